#pragma once
// The "decoder" of a tokenizer.json: how tokens become a text.

#include <functional>
#include <string>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// Gives the pieces that the text is joined from.
using TokenDecoder = std::function<std::vector<std::string>(std::vector<std::string> tokens)>;

/// From {"type": ...}. Throws Error, naming file and type, where the type is not supported.
TokenDecoder make_decoder(const JsonObject& object);

/// What a token adds to a text behind others, in bytes.
using TokenText = std::function<std::string(std::string token)>;

/// The same by token. Empty where a decoder does not take tokens by themselves.
TokenText make_token_text(const JsonObject& object);

/// Valid UTF-8: U+FFFD in place of bytes that are not.
std::string valid_utf8(std::string_view bytes);

/// The byte of a token such as "<0x0A>", or -1.
int byte_of_token(std::string_view token);

}  // namespace vkformer
