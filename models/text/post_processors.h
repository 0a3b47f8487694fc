#pragma once
// The "post_processor" of a tokenizer.json: special tokens around a text or a pair of texts, and type ids.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// A text as tokens.
struct Encoding {
  std::vector<int32_t> ids;
  std::vector<int32_t> type_ids;    ///< 0, or 1 for the second text of a pair, if the tokenizer tells them apart
  std::vector<std::string> tokens;  ///< as the vocabulary has them

  void append(const Encoding& other);
};

/// From one or two texts to the parts that make up the result. Without `add_special` only type ids change.
using PostProcessor = std::function<std::vector<Encoding>(std::vector<Encoding> texts, bool add_special)>;

/// From {"type": ...}. Throws Error, naming file and type, where the type is not supported.
PostProcessor make_post_processor(const JsonObject& object);

}  // namespace vkformer
