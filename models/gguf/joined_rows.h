#pragma once
// A tensor that a GGUF file has in pieces; internal to this folder.

#include <algorithm>
#include <numeric>
#include <vector>

#include "models/pieced_weight.h"
#include "runtime/check.h"

namespace vkformer {

/// The rows of several tensors, one tensor behind the other; or, of convolutions over pictures [C, channels, P, P], one
/// over as many of them that follow each other, [C, channels, pieces, P, P].
class JoinedRows : public PiecedWeight {
 public:
  using Pieces = std::vector<std::unique_ptr<WeightTensor>>;
  JoinedRows(Pieces pieces, bool by_turns)
      : PiecedWeight(pieces.front()->name(), joined_shape(pieces, by_turns), sum_of(pieces, &WeightTensor::elements),
                     pieces.front()->type(), sum_of(pieces, &WeightTensor::bytes)),
        pieces_(std::move(pieces)),
        run_(by_turns ? shape().end()[-1] * shape().end()[-2] : 0) {}

  bool is_float() const override {
    return std::ranges::all_of(pieces_, [](const auto& piece) { return piece->is_float(); });
  }
  std::optional<DType> stored(bool columns) const override {
    const auto type = pieces_.front()->stored(columns);
    const bool alike = std::ranges::all_of(pieces_, [&](const auto& piece) { return piece->stored(columns) == type; });
    return !columns && run_ == 0 && alike ? type : std::nullopt;
  }

 private:
  template <class Size>
  static Size sum_of(const Pieces& pieces, Size (WeightTensor::*size)() const) {
    return std::accumulate(pieces.begin(), pieces.end(), Size{0},
                           [&](Size sum, const auto& piece) { return sum + ((*piece).*size)(); });
  }

  static std::vector<int64_t> joined_shape(const Pieces& pieces, bool by_turns) {
    std::vector<int64_t> shape(pieces.front()->shape().begin(), pieces.front()->shape().end());
    for (const auto& piece : pieces)
      check(
          shape.size() == piece->shape().size() && !shape.empty() &&
              std::equal(shape.begin() + (by_turns ? 0 : 1), shape.end(), piece->shape().begin() + (by_turns ? 0 : 1)),
          "the pieces of tensor {} have unlike shapes", pieces.front()->name());
    check(!by_turns || shape.size() == 4, "tensor {} is no convolution over pictures", pieces.front()->name());
    if (by_turns) {
      shape.insert(shape.begin() + 2, std::ssize(pieces));
      return shape;
    }
    shape.front() = 0;
    for (const auto& piece : pieces) shape.front() += piece->shape().front();
    return shape;
  }

  void visit(int64_t first, int64_t count, const Visitor& visitor) const override {
    const int64_t end = first + count, pieces = std::ssize(pieces_);
    if (run_ > 0) {
      for (int64_t at = first; at < end;) {
        const int64_t turn = at / run_, inside = at % run_, some = std::min(run_ - inside, end - at);
        visitor(*pieces_[static_cast<size_t>(turn % pieces)], turn / pieces * run_ + inside, at - first, some);
        at += some;
      }
      return;
    }
    int64_t begin = 0;  // of a piece
    for (const auto& piece : pieces_) {
      const int64_t from = std::max(first, begin), to = std::min(end, begin + piece->elements());
      if (from < to) visitor(*piece, from - begin, from - first, to - from);
      begin += piece->elements();
    }
  }

  Pieces pieces_;
  int64_t run_;  ///< values of a piece that come before the next one's; 0: all
};

}  // namespace vkformer
