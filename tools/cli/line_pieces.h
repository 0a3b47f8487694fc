#pragma once
// The lines of a verb in pieces, in their order: a piece is sorted by length in itself, computed, and written before
// the next one, so that what was written stays, whatever becomes of the rest.

#include <algorithm>
#include <deque>
#include <functional>

#include "models/data/token_texts.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/line_input.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

/// Full batches that a piece has tokens for. The last batch of each of its few lengths is half empty on average: about
/// 2 of so many.
inline constexpr int64_t batches_of_piece = 32;

/// `Piece`: lines that are computed together. Has texts(), the TokenTexts of them, and count(), of what it answers.
template <class Piece>
class LinePieces {
 public:
  /// Puts a line into a piece; `place` names it for messages.
  using Add = std::function<void(Piece& piece, const std::string& line, const std::string& place)>;

  /// Reads what must be known before work begins: all of a whole input, the first piece of another. `positions`: of a
  /// batch. `one`: all lines are one piece, since nothing is written before all are done. Throws what `add` does, and
  /// like LineInput.
  LinePieces(LineInput input, int64_t positions, Add add, bool one = false)
      : input_(std::move(input)), positions_(positions), one_(one), add_(std::move(add)) {
    while (read() && input_.whole()) continue;
  }

  /// Of those that were read and not written.
  std::deque<Piece>& waiting() { return waiting_; }
  /// How the model takes the texts of this piece and of those before: shapes and what is recorded of them stay.
  TextInputs inputs(const Model& model) const {
    TextInputs inputs = text_inputs(model, largest_segment_);
    inputs.shapes = shapes();
    return inputs;
  }
  /// nullptr before any text was read.
  const LengthBatches* shapes() const { return shapes_ ? &*shapes_ : nullptr; }
  size_t written() const { return written_; }

  /// Has each piece answered and lets readers see that before the next. `noun`: of what is answered. Throws Error when
  /// the answers can't be written, and when a signal has come and `answer`, or waiting for a line, threw Interrupted.
  void answer_each(TextsProgress& progress, const char* noun, const std::function<void(Piece&)>& answer) {
    catch_end_signals();
    try {
      do {
        fit_shapes();
        progress.expect(texts_);
        for (; !waiting_.empty(); waiting_.pop_front()) {
          answer(waiting_.front());
          check_output();
          written_ += waiting_.front().count();
        }
      } while (read());
    } catch (const Interrupted&) {
      size_t count = written_;
      for (const Piece& piece : waiting_) count += input_.whole() ? piece.count() : 0;
      const std::string part = input_.whole() ? fmt::format("{} of ", written_) : "";
      check_no_end_asked(fmt::format("written: {}{}", part, counted(static_cast<int64_t>(count), noun)).c_str());
    }
  }

 private:
  /// One piece; false at the end of the lines.
  bool read() {
    Piece piece;
    bool any = false;
    for (int64_t tokens = 0; one_ || tokens < batches_of_piece * positions_;) {
      const auto line = input_.next();
      if (!line) break;
      any = true;
      const size_t known = piece.texts().ids.size();
      add_(piece, *line, fmt::format("line {}", input_.number()));
      ++tokens;  // a line without texts takes memory, too
      for (size_t i = known; i < piece.texts().ids.size(); ++i) tokens += std::ssize(piece.texts().ids[i]);
    }
    if (any) waiting_.push_back(std::move(piece));
    return any;
  }

  /// To the pieces that were read since.
  void fit_shapes() {
    std::vector<ExampleLength> lengths;
    for (const Piece& piece : waiting_) {
      for (const ExampleLength& length : piece.texts().lengths()) lengths.push_back(length);
      largest_segment_ = std::max(largest_segment_, piece.texts().largest_segment());
    }
    texts_ += std::ssize(lengths);
    if (lengths.empty()) return;
    if (shapes_)
      shapes_->make_room(lengths);
    else
      shapes_ = shapes_by_length(lengths, positions_);
  }

  LineInput input_;
  int64_t positions_;
  bool one_;
  Add add_;
  std::deque<Piece> waiting_;
  std::optional<LengthBatches> shapes_;
  int32_t largest_segment_ = 0;
  int64_t texts_ = 0;  ///< that were read
  size_t written_ = 0;
};

/// A piece of which each line is a text or a pair.
struct TextsPiece {
  std::vector<std::string> lines;
  TokenTexts tokens;
  const TokenTexts& texts() const { return tokens; }
  size_t count() const { return lines.size(); }
};

}  // namespace vkformer
