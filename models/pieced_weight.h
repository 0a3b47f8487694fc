#pragma once
// A tensor that is made of pieces of others.

#include <functional>

#include "runtime/encoding/encoding.h"
#include "runtime/files/weight_source.h"

namespace vkformer {

/// Whose elements lie elsewhere in runs of whole rows.
class PiecedWeight : public WeightTensor {
 public:
  void read_floats(int64_t first, std::span<float> out) const override {
    visit(first, std::ssize(out), [&](const WeightTensor& tensor, int64_t begin, int64_t done, int64_t count) {
      tensor.read_floats(begin, out.subspan(static_cast<size_t>(done), static_cast<size_t>(count)));
    });
  }
  void read_stored(int64_t first, std::span<std::byte> out) const override {
    const BlockFormat& format = format_of(*stored(false));
    const auto bytes = [&](int64_t values) { return static_cast<size_t>(values / format.values * format.bytes); };
    visit(first, std::ssize(out) / format.bytes * format.values,
          [&](const WeightTensor& tensor, int64_t begin, int64_t done, int64_t count) {
            tensor.read_stored(begin, out.subspan(bytes(done), bytes(count)));
          });
  }
  void release(int64_t first, int64_t count) const override {
    visit(first, count,
          [](const WeightTensor& tensor, int64_t begin, int64_t, int64_t some) { tensor.release(begin, some); });
  }

 protected:
  using WeightTensor::WeightTensor;
  /// `count` elements of a tensor from `begin` on, of those that are asked for the ones behind `done`.
  using Visitor = std::function<void(const WeightTensor& tensor, int64_t begin, int64_t done, int64_t count)>;
  /// Gives the pieces of elements [first, first + count).
  virtual void visit(int64_t first, int64_t count, const Visitor& visitor) const = 0;
};

}  // namespace vkformer
