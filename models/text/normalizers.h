#pragma once
// The "normalizer" of a tokenizer.json: what is done to a text before it is split.

#include <functional>

#include "models/text/text_part.h"
#include "runtime/files/json_file.h"

namespace vkformer {

using Normalizer = std::function<void(TextPart&)>;

/// From {"type": ...}. Throws Error, naming file and type, where the type is not supported.
Normalizer make_normalizer(const JsonObject& object);

/// Finds matches in a text.
using Pattern = std::function<std::vector<ByteRange>(std::string_view)>;

/// The "pattern" of an object: {"String": ...} or {"Regex": ...}. Throws Error.
Pattern make_pattern(const JsonObject& object);

}  // namespace vkformer
