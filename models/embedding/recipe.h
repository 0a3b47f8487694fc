#pragma once
// How embeddings are made of a model's hidden states, as its files say it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "models/data/pooling.h"

namespace vkformer {

/// A GGUF file's pooling_type.
uint32_t gguf_number(Pooling pooling);

struct EmbeddingRecipe {
  Pooling pooling = Pooling::mean;
  bool said = false;                    ///< the files say which
  int64_t most_tokens = 0;              ///< texts are cut there; 0: where the model ends
  std::string query_prefix = {};        ///< what the model wants before a question,
  std::string text_prefix = {};         ///< and before a text that may answer it
  bool counts_prefix = true;            ///< its tokens are pooled, too
  std::vector<std::string> dense = {};  ///< folders, below the model's, of layers behind the pooling
  bool lower_case = false;              ///< what texts are made to, whatever the tokenizer does
};

/// What the files of sentence-transformers beside a model say (modules.json, its Pooling's config.json,
/// sentence_bert_config.json, config_sentence_transformers.json), or a GGUF file's pooling_type. Embeddings have length
/// 1 whatever they say: cosines do not change by that. Throws Error for modules and poolings that are not supported.
EmbeddingRecipe embedding_recipe(const std::filesystem::path& model);

/// Files of sentence-transformers that say the pooling, beside a model whose hidden states have so many numbers.
void write_pooling(const std::filesystem::path& folder, Pooling pooling, int64_t width);
/// Files beside a model's that say how embeddings are made of it, as they are.
inline constexpr const char* embedding_files[] = {"modules.json", "sentence_bert_config.json",
                                                  "config_sentence_transformers.json", "1_Pooling/config.json"};

}  // namespace vkformer
