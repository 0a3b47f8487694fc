#include "models/families/encoder_decoder/encoder_decoder_parameters.h"

#include "models/families/layers.h"

namespace vkformer::encoder_decoder {

using Positions = EncoderDecoderConfig::Positions;
using Stack = EncoderDecoderConfig::Stack;

namespace {

constexpr Names own_names{.tokens = "embedding",
                          .stack_tokens = "embedding",
                          .head = "output",
                          .encoder = "encoder",
                          .decoder = "decoder",
                          .self_attention = "self_attention",
                          .cross_attention = "cross_attention",
                          .query = "query",
                          .key = "key",
                          .value = "value",
                          .output = "output",
                          .inner = "feed_forward.hidden",
                          .outer = "feed_forward.output",
                          .self_norm = "self_attention_norm",
                          .cross_norm = "cross_attention_norm",
                          .feed_forward_norm = "feed_forward_norm",
                          .final_norm = "final_norm"};
constexpr Names hugging_face_names{.tokens = "model.shared",
                                   .stack_tokens = "embed_tokens",
                                   .head = "lm_head",
                                   .encoder = "model.encoder",
                                   .decoder = "model.decoder",
                                   .self_attention = "self_attn",
                                   .cross_attention = "encoder_attn",
                                   .query = "q_proj",
                                   .key = "k_proj",
                                   .value = "v_proj",
                                   .output = "out_proj",
                                   .inner = "fc1",
                                   .outer = "fc2",
                                   .self_norm = "self_attn_layer_norm",
                                   .cross_norm = "encoder_attn_layer_norm",
                                   .feed_forward_norm = "final_layer_norm",
                                   .final_norm = "layer_norm"};

constexpr Names sound_names = [] {
  Names names = hugging_face_names;
  names.tokens = "model.decoder.embed_tokens";
  names.head = "proj_out";
  return names;
}();

}  // namespace

const Names& names_of(const EncoderDecoderConfig& config) {
  if (config.sound) return sound_names;
  return config.is_hugging_face() ? hugging_face_names : own_names;
}

std::string weight_of(std::string_view name) { return fmt::format("{}.weight", name); }

std::string embedding_of(const EncoderDecoderConfig& config, bool encoder) {
  const Names& names = names_of(config);
  if (config.source_vocabulary == 0) return weight_of(names.tokens);
  return weight_of(join_names(encoder ? names.encoder : names.decoder, names.stack_tokens));
}

std::string layer_name(std::string_view stack, int64_t layer) { return fmt::format("{}.layers.{}", stack, layer); }

std::vector<ParameterSpec> parameters_of(const EncoderDecoderConfig& c) {
  const Names& names = names_of(c);
  ParameterList list(c.deviation);
  const bool apart = c.source_vocabulary > 0, hugging_face = c.is_hugging_face();
  if (apart) list.normal(embedding_of(c, true), {c.source_vocabulary, c.width});
  list.normal(embedding_of(c, false), {c.vocabulary, c.width});
  if (hugging_face && !apart && !c.sound)
    for (std::string_view stack : {names.encoder, names.decoder})
      list.last().other_names.push_back(weight_of(join_names(stack, names.stack_tokens)));
  if (hugging_face && c.tied && !c.classifier) list.last().other_names.push_back(weight_of(names.head));
  for (const bool encoder : {true, false}) {
    const Stack& stack = encoder ? c.encoder : c.decoder;
    const std::string_view stack_name = encoder ? names.encoder : names.decoder;
    if (encoder && c.sound) {
      list.normal(fmt::format("{}.conv1.weight", stack_name), {c.width, c.sound->mels, convolved});
      list.zeros(fmt::format("{}.conv1.bias", stack_name), {c.width});
      list.normal(fmt::format("{}.conv2.weight", stack_name), {c.width, c.width, convolved});
      list.zeros(fmt::format("{}.conv2.bias", stack_name), {c.width});
      list.normal(fmt::format("{}.embed_positions.weight", stack_name), {c.sound->positions, c.width});
      list.last().start = ParameterSpec::Start::computed;
      list.last().computed = [positions = c.sound->positions, width = c.width] {
        return sinusoids(Positions::fairseq, positions, width);
      };
      list.last().training = ParameterSpec::Training::never;
    } else if (c.positions == Positions::learned) {
      list.normal(fmt::format("{}.embed_positions.weight", stack_name), {c.context + learned_offset(c), c.width});
    }
    if (c.embedding_norm) list.layer_norm(join_names(stack_name, "layernorm_embedding"), c.width);
    const int64_t C = c.width;
    const auto output = [&](const std::string& name) { list.linear(join_names(name, names.output), C, C); };
    const auto projections = [&](const std::string& name) {
      for (std::string_view part : {names.query, names.key, names.value})
        list.linear(join_names(name, part), C, C, !c.sound || part != names.key);
    };
    for (int64_t i = 0; i < stack.layers; ++i) {
      const std::string layer = layer_name(stack_name, i);
      const std::string self = join_names(layer, names.self_attention);
      if (c.sound)
        projections(self);
      else
        list.joint_linear(self, qkv, {{names.query, C}, {names.key, C}, {names.value, C}}, C);
      output(self);
      list.layer_norm(join_names(layer, names.self_norm), c.width);
      if (!encoder) {
        const std::string cross = join_names(layer, names.cross_attention);
        projections(cross);
        output(cross);
        list.layer_norm(join_names(layer, names.cross_norm), c.width);
      }
      list.linear(join_names(layer, names.inner), c.width, stack.inner);
      list.linear(join_names(layer, names.outer), stack.inner, c.width);
      list.layer_norm(join_names(layer, names.feed_forward_norm), c.width);
    }
    if (c.final_norm) list.layer_norm(join_names(stack_name, names.final_norm), c.width);
  }
  if (c.classifier) {
    list.linear("classification_head.dense", c.width, c.width);
    list.linear("classification_head.out_proj", c.width, std::ssize(c.classifier->classes.names));
    return list.take();
  }
  if (!c.tied) list.normal(weight_of(names.head), {c.vocabulary, c.width});
  if (c.logits_bias) {
    list.zeros("final_logits_bias", {1, c.vocabulary});
    list.last().training = ParameterSpec::Training::never;
    list.last().optional = true;
  }
  return list.take();
}

}  // namespace vkformer::encoder_decoder
