#include "models/text/sentence_pieces.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "models/text/sentence_piece_file.h"
#include "models/text/unicode.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

class LineIterator final : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(std::span<const std::string> lines) : lines_(lines) {}
  bool done() const override { return at_ == lines_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return lines_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  std::span<const std::string> lines_;
  size_t at_ = 0;
};

SentencePieces read_pieces(std::string model) {
  sentencepiece::SentencePieceProcessor processor;
  const auto status = processor.LoadFromSerializedProto(model);
  check(status.ok(), "SentencePiece can't read the model that it trained ({})", status.ToString());
  SentencePieces result;
  for (int id = 0; id < processor.GetPieceSize(); ++id) {
    result.pieces.push_back(processor.IdToPiece(id));
    result.scores.push_back(processor.GetScore(id));
    result.special.push_back(processor.IsControl(id) || processor.IsUnknown(id));
  }
  result.charsmap = SentencePieceFile::parse(model, "SentencePiece's model").charsmap;
  result.model = std::move(model);
  return result;
}

sentencepiece::util::Status run_trainer(std::span<const std::string> lines, const SentencePieceOptions& options,
                                        std::string& model) {
  LineIterator iterator(lines);
  return sentencepiece::SentencePieceTrainer::Train(options, &iterator, &model);
}

/// Of lines without any the trainer would end the process.
bool is_visible(char32_t c) { return !is_white_space(c) && !is_control(c) && c != 0x2581 && c != 0xFFFD; }

void check_visible(std::span<const std::string> lines) {
  bool visible = false;
  for (size_t i = 0; i < lines.size() && !visible; ++i)
    for_each_character(lines[i], [&](char32_t c, size_t, size_t) { visible = visible || is_visible(c); });
  check(visible, "the text has nothing but blanks; a vocabulary needs words");
}

/// Why the trainer refused: as a rule, for a vocabulary that is smaller than what every one has. A vocabulary of
/// characters tells how many those are.
[[noreturn]] void refuse(std::span<const std::string> lines, SentencePieceOptions options, int64_t size,
                         int64_t reserved, const std::string& why) {
  options["model_type"] = "char";
  options["vocab_size"] = "2000000";  // above all of Unicode
  std::string model;
  if (run_trainer(lines, options, model).ok()) {
    const SentencePieces all = read_pieces(std::move(model));
    const auto needed = static_cast<int64_t>(all.pieces.size()) + reserved;
    const auto special = std::count(all.special.begin(), all.special.end(), true) + reserved;
    if (needed > size)
      fail(
          "a vocabulary of {} is too small for the {} characters of the text and {} special tokens; give a size of {} "
          "or "
          "more, or a character coverage below 1",
          size, needed - special, special, needed);
  }
  fail("SentencePiece can't make a vocabulary of this text ({})", printable(why));
}

/// The end of the first part of `text`: all of it, or at most `longest` bytes, up to the last blank or a character.
size_t first_part(std::string_view text, size_t longest) {
  if (text.size() <= longest) return text.size();
  if (const size_t blank = text.rfind(' ', longest); blank != text.npos && blank > 0) return blank;
  size_t end = longest;
  while (end > 1 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  return end;
}

}  // namespace

SentencePieces train_sentence_pieces(std::span<const std::string> lines, SentencePieceOptions options,
                                     int64_t reserved) {
  check_visible(lines);
  size_t bytes = 0;
  for (const std::string& line : lines) bytes += line.size();
  const int64_t size = std::stoll(options["vocab_size"]);
  options["vocab_size"] = std::to_string(std::max<int64_t>(size - reserved, 1));
  options["minloglevel"] = "2";
  options["hard_vocab_limit"] = "false";
  options["max_sentence_length"] = "1000000";
  // Text that 32-bit offsets might not reach into.
  if (bytes > size_t{1} << 30) options["train_extremely_large_corpus"] = "true";
  std::string model;
  if (const auto status = run_trainer(lines, options, model); !status.ok())
    refuse(lines, std::move(options), size, reserved, status.ToString());
  return read_pieces(std::move(model));
}

std::vector<std::string> training_parts(std::span<const std::string> lines, std::span<const std::string> separators,
                                        size_t longest) {
  std::vector<std::string> parts;
  for (const std::string& line : lines) {
    const auto add = [&](std::string_view text) {
      while (!text.empty()) {
        const size_t end = first_part(text, longest);
        parts.emplace_back(text.substr(0, end));
        text.remove_prefix(end);
      }
    };
    size_t done = 0;
    while (done < line.size()) {
      size_t next = line.npos, length = 0;
      for (const std::string& separator : separators)
        if (const size_t found = line.find(separator, done); found < next) {
          next = found;
          length = separator.size();
        }
      add(std::string_view(line).substr(done, next - done));
      done = next == line.npos ? line.size() : next + length;
    }
  }
  return parts;
}

std::vector<std::pair<std::string, std::string>> merges_of(const SentencePieces& pieces) {
  std::vector<size_t> order;
  std::unordered_set<std::string_view> known;
  for (size_t id = 0; id < pieces.pieces.size(); ++id) {
    if (pieces.special[id]) continue;
    order.push_back(id);
    known.insert(pieces.pieces[id]);
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return pieces.scores[a] > pieces.scores[b]; });
  std::vector<std::pair<std::string, std::string>> merges;
  for (const size_t id : order) {
    const std::string_view piece = pieces.pieces[id];
    for (size_t cut = piece.size() - 1; cut > 0; --cut)
      if (known.contains(piece.substr(0, cut)) && known.contains(piece.substr(cut)))
        merges.emplace_back(piece.substr(0, cut), piece.substr(cut));
  }
  return merges;
}

}  // namespace vkformer
