#pragma once
// The tokenizer of a GGUF file as Hugging Face's tokenizer.json says the same.

#include <nlohmann/json_fwd.hpp>

#include "runtime/files/gguf.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// What stands for a blank in tokens of SentencePiece, and for the start of a word in those of BERT.
inline constexpr std::string_view space_sign = "\xE2\x96\x81";

/// Kinds of tokens, with their numbers in a file.
/// Tokens that end an answer, whatever the file calls their kind and its own end id: llama.cpp knows them by their
/// texts, since early converters wrote them as any other token.
bool ends_a_turn(std::string_view token);

enum class TokenKind : uint8_t { undefined, normal, unknown, control, user_defined, unused, byte };

bool has_gguf_tokenizer(const GgufMetadata& metadata);

/// A tokenizer.json that makes the same tokens of a text. Throws Error, naming the key, for kinds of tokenizers and
/// ways of splitting words that are not known.
nlohmann::json gguf_tokenizer(const GgufMetadata& metadata);

/// What tokenizer_config.json says beside it: special tokens by name and the chat template.
nlohmann::json gguf_tokenizer_config(const GgufMetadata& metadata);

/// The other way: appends the tokenizer of a folder, if it has one, for a model of so many tokens. Throws Error for
/// what the format can't say.
void add_tokenizer(GgufPairs& pairs, const std::filesystem::path& folder, const nlohmann::json& config,
                   int64_t vocabulary);

}  // namespace vkformer
