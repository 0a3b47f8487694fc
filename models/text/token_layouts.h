#pragma once
// The special tokens of the vocabularies that are made here, by TokenizerTraining::Layout; internal to this folder.

#include <nlohmann/json_fwd.hpp>

#include "models/text/sentence_pieces.h"
#include "models/text/tokenizer_training.h"

namespace vkformer {

struct SpecialToken {
  std::string token;
  std::vector<std::string> roles;  ///< keys of tokenizer_config.json; none: an additional one
};

struct TokenLayout {
  std::string name;                   ///< on the command line
  /// In the order of their ids, which are the first ones (plain and speech: the last).
  std::vector<SpecialToken> special;
  SentencePieceOptions options;       ///< the same for SentencePiece
  std::string single, pair;           ///< what is put around texts A and B, with token types: "[CLS]:0 A:0 [SEP]:0"
  bool types = false;                 ///< the types are for the model, too
  bool padding_in_front = false;
  size_t sentinels = 0;  ///< at the end of the vocabulary, <extra_id_0> last

  std::vector<std::string> special_texts() const;
  /// Those that SentencePiece does not make, in the order of their ids.
  std::vector<std::string> last_texts() const;
  /// TemplateProcessing of tokenizer.json.
  nlohmann::json post_processor() const;
  /// What tokenizer_config.json says of all that.
  nlohmann::ordered_json settings() const;
};

const TokenLayout& layout_of(TokenizerTraining::Layout layout);

}  // namespace vkformer
