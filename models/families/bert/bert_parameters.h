#pragma once
// What the tensors of BERT and its like are called in files, and their shapes; internal to this folder.

#include "models/families/bert/bert.h"

namespace vkformer::bert {

inline constexpr const char* token_classifier = "classifier";
inline constexpr const char* answer_ends = "qa_outputs";  ///< the head for answers

/// What a family calls its tensors, and what else is its own.
struct Names {
  std::string_view embeddings, layers;
  std::string_view qkv = "attention.qkv";  ///< the joint tensor of the input projections
  std::string_view query, key, value;      ///< its parts in files; empty: they have it whole
  std::string_view output, attention_norm;
  std::string_view inner, outer, output_norm;
  std::string_view embedding_projection = "electra.embeddings_project";
  std::string_view transform, transform_norm, decoder, decoder_bias;  ///< head for masked words
  std::string_view pooler, classifier;                                ///< head for sequences
  Activation pooled = Activation::tanh;
  bool biases = true;  ///< of layers' projections
  bool drops_attention_output = true, drops_output = true;
  bool drops_first_token = false;        ///< before the pooler
  bool transforms_by_activation = true;  ///< of the config; otherwise always GELU
};

/// Of gated layers, in the order of gated_unit(), and the joint tensor of both.
inline constexpr std::string_view gate = "mlp.fc12", up = "mlp.fc11", gate_up = "mlp.gate_up";

const Names& names_of(const BertConfig& config);

std::string word_table(const BertConfig& c);
std::string position_table(const BertConfig& c);
std::string segment_table(const BertConfig& c);
std::string embedding_norm(const BertConfig& c);
/// Of its parameters, which layers of a group share.
std::string layer_name(const BertConfig& c, int64_t layer);
/// MPNet's bias [buckets, heads], and the buckets of relative positions, which are computed.
inline constexpr const char* relative_table = "mpnet.encoder.relative_attention_bias.weight";
inline constexpr const char* relative_buckets = "mpnet.encoder.buckets";
/// transformers takes T5's buckets, as many whatever the config says.
inline constexpr int64_t bucket_count = 32, most_distance = 128;
std::string decoder_weight(const BertConfig& c);
/// transformers 5 ties the bias where it ties the matrix; otherwise it reads DECODER.bias. Older ones always tie it.
std::string decoder_bias(const BertConfig& c, bool tied);
Shape position_shape(const BertConfig& c);

/// What its config calls the dropout of classifiers.
inline const char* classifier_dropout_key(const BertConfig& c) {
  return c.is_albert() ? "classifier_dropout_prob" : "classifier_dropout";
}

std::vector<ParameterSpec> parameters_of(const BertConfig& config);

}  // namespace vkformer::bert
