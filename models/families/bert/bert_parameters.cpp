#include "models/families/bert/bert_parameters.h"

#include "models/families/bert/disentangled.h"
#include "models/families/encoder_decoder/encoder_decoder.h"
#include "models/families/layers.h"

namespace vkformer::bert {

using Head = BertConfig::Head;

namespace {

constexpr Names bert_names{.embeddings = "bert.embeddings",
                           .layers = "bert.encoder.layer",
                           .query = "attention.self.query",
                           .key = "attention.self.key",
                           .value = "attention.self.value",
                           .output = "attention.output.dense",
                           .attention_norm = "attention.output.LayerNorm",
                           .inner = "intermediate.dense",
                           .outer = "output.dense",
                           .output_norm = "output.LayerNorm",
                           .transform = "cls.predictions.transform.dense",
                           .transform_norm = "cls.predictions.transform.LayerNorm",
                           .decoder = "cls.predictions.decoder",
                           .decoder_bias = "cls.predictions.bias",
                           .pooler = "bert.pooler.dense",
                           .classifier = "classifier"};

constexpr Names roberta_names = [] {
  Names names = bert_names;
  names.embeddings = "roberta.embeddings";
  names.layers = "roberta.encoder.layer";
  names.transform = "lm_head.dense";
  names.transform_norm = "lm_head.layer_norm";
  names.decoder = "lm_head.decoder";
  names.decoder_bias = "lm_head.bias";
  names.pooler = "classifier.dense";
  names.classifier = "classifier.out_proj";
  names.drops_first_token = true;
  names.transforms_by_activation = false;
  return names;
}();

constexpr Names mpnet_names = [] {
  Names names = roberta_names;
  names.embeddings = "mpnet.embeddings";
  names.layers = "mpnet.encoder.layer";
  names.query = "attention.attn.q";
  names.key = "attention.attn.k";
  names.value = "attention.attn.v";
  names.output = "attention.attn.o";
  names.attention_norm = "attention.LayerNorm";
  return names;
}();

constexpr Names electra_names = [] {
  Names names = bert_names;
  names.embeddings = "electra.embeddings";
  names.layers = "electra.encoder.layer";
  names.transform = "generator_predictions.dense";
  names.transform_norm = "generator_predictions.LayerNorm";
  names.decoder = "generator_lm_head";
  names.decoder_bias = "generator_lm_head.bias";
  names.pooler = "classifier.dense";
  names.classifier = "classifier.out_proj";
  names.pooled = Activation::gelu;
  names.drops_first_token = true;
  names.transforms_by_activation = false;
  return names;
}();

constexpr Names albert_names{.embeddings = "albert.embeddings",
                             .layers = "albert.encoder.albert_layer_groups",
                             .query = "attention.query",
                             .key = "attention.key",
                             .value = "attention.value",
                             .output = "attention.dense",
                             .attention_norm = "attention.LayerNorm",
                             .inner = "ffn",
                             .outer = "ffn_output",
                             .output_norm = "full_layer_layer_norm",
                             .embedding_projection = "albert.encoder.embedding_hidden_mapping_in",
                             .transform = "predictions.dense",
                             .transform_norm = "predictions.LayerNorm",
                             .decoder = "predictions.decoder",
                             .decoder_bias = "predictions.bias",
                             .pooler = "albert.pooler",
                             .classifier = "classifier",
                             .drops_output = false};

constexpr Names deberta_names = [] {
  Names names = bert_names;
  names.embeddings = "deberta.embeddings";
  names.layers = "deberta.encoder.layer";
  names.query = "attention.self.query_proj";
  names.key = "attention.self.key_proj";
  names.value = "attention.self.value_proj";
  names.pooler = "pooler.dense";
  return names;
}();

constexpr Names nomic_names = [] {
  Names names = bert_names;
  names.embeddings = "nomic_bert.embeddings";
  names.layers = "nomic_bert.encoder.layers";
  names.qkv = "attn.Wqkv";
  names.query = names.key = names.value = {};
  names.output = "attn.out_proj";
  names.attention_norm = "norm1";
  names.outer = "mlp.fc2";
  names.output_norm = "norm2";
  names.transform_norm = "cls.predictions.transform.layer_norm";
  names.pooler = "nomic_bert.pooler.dense";
  names.biases = false;
  return names;
}();

constexpr Names distilbert_names{.embeddings = "distilbert.embeddings",
                                 .layers = "distilbert.transformer.layer",
                                 .query = "attention.q_lin",
                                 .key = "attention.k_lin",
                                 .value = "attention.v_lin",
                                 .output = "attention.out_lin",
                                 .attention_norm = "sa_layer_norm",
                                 .inner = "ffn.lin1",
                                 .outer = "ffn.lin2",
                                 .output_norm = "output_layer_norm",
                                 .transform = "vocab_transform",
                                 .transform_norm = "vocab_layer_norm",
                                 .decoder = "vocab_projector",
                                 .decoder_bias = "vocab_projector.bias",
                                 .pooler = "pre_classifier",
                                 .classifier = "classifier",
                                 .pooled = Activation::relu,
                                 .drops_attention_output = false};

}  // namespace

const Names& names_of(const BertConfig& config) {
  if (config.family == "distilbert") return distilbert_names;
  if (config.is_mpnet()) return mpnet_names;
  if (config.is_electra()) return electra_names;
  if (config.is_albert()) return albert_names;
  if (config.is_deberta()) return deberta_names;
  if (config.is_nomic()) return nomic_names;
  return config.is_roberta() ? roberta_names : bert_names;
}

std::string word_table(const BertConfig& c) { return join_names(names_of(c).embeddings, "word_embeddings.weight"); }
std::string position_table(const BertConfig& c) {
  return join_names(names_of(c).embeddings, "position_embeddings.weight");
}
std::string segment_table(const BertConfig& c) {
  return join_names(names_of(c).embeddings, "token_type_embeddings.weight");
}
std::string embedding_norm(const BertConfig& c) {
  return c.is_nomic() ? "nomic_bert.emb_ln" : join_names(names_of(c).embeddings, "LayerNorm");
}
std::string layer_name(const BertConfig& c, int64_t layer) {
  if (c.groups == 0) return fmt::format("{}.{}", names_of(c).layers, layer);
  return fmt::format("{}.{}.albert_layers.0", names_of(c).layers, layer * c.groups / c.layers);
}
std::string decoder_weight(const BertConfig& c) { return join_names(names_of(c).decoder, "weight"); }
std::string decoder_bias(const BertConfig& c, bool tied) {
  return tied ? std::string(names_of(c).decoder_bias) : join_names(names_of(c).decoder, "bias");
}
Shape position_shape(const BertConfig& c) { return {c.first_position + c.context, c.embedding_width()}; }

/// transformers computes them when a model is made, and then loads what the file has: distilbert-base-cased's is a
/// learned table under this flag.
void make_sinusoids(ParameterSpec& positions, const BertConfig& c) {
  positions.start = ParameterSpec::Start::computed;
  positions.computed = [context = c.context, width = c.width] {
    return sinusoids(EncoderDecoderConfig::Positions::sinusoidal, context, width);
  };
  positions.training = ParameterSpec::Training::never;
  positions.optional = true;
}

std::vector<ParameterSpec> parameters_of(const BertConfig& c) {
  const Names& names = names_of(c);
  const auto classes = static_cast<int64_t>(c.classes.names.size());
  ParameterList list(c.deviation);
  const int64_t E = c.embedding_width();
  list.normal(word_table(c), {c.vocabulary, E});
  if (c.head == Head::masked && c.tied) list.last().other_names = {decoder_weight(c)};
  if (c.has_position_table()) list.normal(position_table(c), position_shape(c));
  if (c.sinusoidal) make_sinusoids(list.last(), c);
  if (c.segments > 0) list.normal(segment_table(c), {c.segments, E});
  list.layer_norm(embedding_norm(c), E);
  if (c.projects_embeddings()) list.linear(std::string(names.embedding_projection), E, c.width);
  if (c.is_mpnet()) list.normal(relative_table, {bucket_count, c.heads});
  if (c.is_deberta()) {
    list.normal(distance_table, {2 * c.distance_span(), c.width});
    list.layer_norm(distance_norm, c.width);
  }
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = layer_name(c, i);
    if (i > 0 && layer == layer_name(c, i - 1)) continue;
    if (c.is_deberta())  // whose queries and keys are projected like distances
      for (const std::string_view name : {names.query, names.key, names.value})
        list.linear(join_names(layer, name), c.width, c.width);
    else if (names.query.empty())
      list.linear(join_names(layer, names.qkv), c.width, 3 * c.width, names.biases);
    else
      list.joint_linear(layer, names.qkv, {{names.query, c.width}, {names.key, c.width}, {names.value, c.width}},
                        c.width);
    list.linear(join_names(layer, names.output), c.width, c.width, names.biases);
    list.layer_norm(join_names(layer, names.attention_norm), c.width);
    if (c.is_nomic())
      list.joint_linear(layer, gate_up, {{gate, c.inner}, {up, c.inner}}, c.width, names.biases);
    else
      list.linear(join_names(layer, names.inner), c.width, c.inner);
    list.linear(join_names(layer, names.outer), c.inner, c.width, names.biases);
    list.layer_norm(join_names(layer, names.output_norm), c.width);
  }
  switch (c.head) {
    case Head::masked:
      list.linear(std::string(names.transform), c.width, E);
      list.last().optional = c.is_nomic();  // the first one has no biases here, too
      list.layer_norm(std::string(names.transform_norm), E);
      if (!c.tied) list.normal(decoder_weight(c), {c.vocabulary, E});
      list.zeros(decoder_bias(c, c.tied), {c.vocabulary});
      list.last().optional = c.is_nomic();
      if (c.is_electra()) break;  // its bias has one name
      list.last().other_names = {decoder_bias(c, !c.tied)};
      list.last().one_tensor = c.tied;  // transformers 5 writes both of an untied head and reads DECODER.bias
      break;
    case Head::sequence:
      list.linear(std::string(names.pooler), c.width, c.width);
      list.linear(std::string(names.classifier), c.width, classes);
      break;
    case Head::tokens: list.linear(token_classifier, c.width, classes); break;
    case Head::answer: list.linear(answer_ends, c.width, 2); break;
    case Head::none: break;
  }
  std::vector<ParameterSpec> parameters = list.take();
  if (c.is_nomic())  // the one pre-trained for masked words has the first families' name in front
    for (ParameterSpec& parameter : parameters)
      if (parameter.name.starts_with("nomic_bert.")) parameter.other_names.push_back(parameter.name.substr(6));
  return parameters;
}

}  // namespace vkformer::bert
