#pragma once
// The "pre_tokenizer" of a tokenizer.json: how a normalized text is split before the model makes tokens of the parts.

#include "models/text/normalizers.h"

namespace vkformer {

/// Splits a part, and may change its characters. Empty parts are never kept.
using PreTokenizer = std::function<std::vector<TextPart>(const TextPart&)>;

/// From {"type": ...}. Throws Error, naming file and type, where the type is not supported.
PreTokenizer make_pre_tokenizer(const JsonObject& object);

/// What Metaspace puts before a text.
enum class PrependScheme : uint8_t { always, first, never };

/// The "prepend_scheme" of a Metaspace, with the "add_prefix_space" of older files. Throws Error.
PrependScheme prepend_scheme(const JsonObject& metaspace);

}  // namespace vkformer
