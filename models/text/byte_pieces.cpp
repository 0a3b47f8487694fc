#include "models/text/byte_pieces.h"

#include <algorithm>
#include <map>
#include <set>

#include "models/text/byte_alphabet.h"
#include "models/text/pre_tokenizers.h"
#include "models/text/sentence_pieces.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// The longest token that the trainer can learn.
constexpr size_t longest_token = 512;

/// How often each word of the texts occurs. Sorted: the order has a say where pairs are equally frequent.
std::map<std::string, int64_t> count_words(std::span<const std::string> texts) {
  const PreTokenizer words = make_pre_tokenizer(JsonObject::parse(
      R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})", "GPT-2's pre-tokenizer"));
  std::map<std::string, int64_t> counts;
  for (const std::string& text : texts)
    for (const TextPart& word : words(whole_text(text, false)))
      for (const std::string& part : training_parts({&word.text, 1}, {}, longest_token)) ++counts[part];
  return counts;
}

}  // namespace

BytePieces train_byte_pieces(std::span<const std::string> texts, int64_t size) {
  std::vector<std::string> lines;
  std::set<char32_t> alphabet;
  for (const auto& [word, count] : count_words(texts)) {
    for_each_character(word, [&](char32_t c, size_t, size_t) { alphabet.insert(c); });
    lines.push_back(fmt::format("{}\t{}", word, count));
  }

  BytePieces result;
  auto bytes = byte_alphabet();
  std::sort(bytes.begin(), bytes.end());
  for (const char32_t c : bytes) append_utf8(result.tokens.emplace_back(), c);
  const int64_t merged = size - static_cast<int64_t>(bytes.size());
  if (merged <= 0 || lines.empty()) return result;

  // The trainer's vocabulary has the bytes that occur and one unknown piece. Words are not cut at changes of script:
  // the characters only stand for bytes.
  const SentencePieces pieces =
      train_sentence_pieces(lines, {{"model_type", "bpe"},
                                    {"input_format", "tsv"},
                                    {"vocab_size", std::to_string(merged + static_cast<int64_t>(alphabet.size()) + 1)},
                                    {"unk_id", "0"},
                                    {"bos_id", "-1"},
                                    {"eos_id", "-1"},
                                    {"character_coverage", "1"},
                                    {"normalization_rule_name", "identity"},
                                    {"add_dummy_prefix", "false"},
                                    {"remove_extra_whitespaces", "false"},
                                    {"split_by_unicode_script", "false"},
                                    {"split_by_number", "false"},
                                    {"max_sentencepiece_length", std::to_string(longest_token)}});
  result.merges = merges_of(pieces);
  for (size_t id = 0; id < pieces.pieces.size(); ++id) {
    const std::string& piece = pieces.pieces[id];
    if (!pieces.special[id] && read_utf8(piece, 0).length < piece.size()) result.tokens.push_back(piece);
  }
  return result;
}

}  // namespace vkformer
