#pragma once
// The "normalizer" of a tokenizer.json: what is done to a text before it is split.

#include <functional>

#include "models/text/unicode.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// A part of a text.
struct TextPart {
  std::string text;
  /// Whether its first character comes from the first one of the whole text: Metaspace marks only that with the scheme
  /// "first".
  bool at_start = false;
};

using Normalizer = std::function<void(TextPart&)>;

/// From {"type": ...}. Throws Error, naming file and type, where the type is not supported.
Normalizer make_normalizer(const JsonObject& object);

/// Finds matches in a text.
using Pattern = std::function<std::vector<ByteRange>(std::string_view)>;

/// The "pattern" of an object: {"String": ...} or {"Regex": ...}. Throws Error.
Pattern make_pattern(const JsonObject& object);

/// The text with "content" in place of every match.
std::string replace_all(std::string_view text, const Pattern& pattern, std::string_view content);

/// Every byte as its character in GPT-2's alphabet.
std::string bytes_to_alphabet(std::string_view text);

}  // namespace vkformer
