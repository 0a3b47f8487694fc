#pragma once
// What tokenizer_config.json says of the tokens around a text, where transformers' class of tokenizers goes by it.

#include <filesystem>

#include "runtime/files/json_file.h"

namespace vkformer {

/// A folder's tokenizer.json with the post-processor that some classes put in the place of its own. LlamaTokenizer,
/// CodeLlamaTokenizer and GemmaTokenizer: bos_token before a text unless add_bos_token is false, eos_token behind it
/// where add_eos_token is true (DeepSeek's distilled Qwens have none in tokenizer.json). NllbTokenizer, M2M100Tokenizer
/// and MBart50Tokenizer: the language src_lang before a text and eos_token behind it; MBartTokenizer, and NllbTokenizer
/// with legacy_behaviour: both behind it. Any other stays as it is, and so does one whose tokens are not known. Throws
/// Error for a tokenizer_config.json that can't be read.
JsonObject with_class_template(const JsonObject& tokenizer, const std::filesystem::path& folder);

}  // namespace vkformer
