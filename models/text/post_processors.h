#pragma once
// The "post_processor" of a tokenizer.json: special tokens around a text or a pair of texts, and type ids.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// What a token stands for: bytes [begin, end) of the first text (0) or the second one (1).
struct TokenSpan {
  static constexpr int no_text = -1;
  size_t begin = 0, end = 0;
  int text = no_text;  ///< of special tokens around the texts
};

/// A text as tokens.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;    ///< 0, or 1 for the second text of a pair, if the tokenizer tells them apart
  std::vector<std::string> tokens;  ///< as the vocabulary has them
  std::vector<TokenSpan> spans;     ///< of each token, where they were asked for; otherwise none

  void append(const Encoding& other);
  /// Tokens [begin, end).
  Encoding part(size_t begin, size_t end) const;
};

/// From one or two texts to the parts that make up the result. Without `add_special` only type ids change.
using PostProcessor = std::function<std::vector<Encoding>(std::vector<Encoding> texts, bool add_special)>;

/// From {"type": ...}. Throws Error, naming file and type, where the type is not supported.
PostProcessor make_post_processor(const JsonObject& object);

}  // namespace vkformer
