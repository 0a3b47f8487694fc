// The eyes of Pixtral (Agrawal et al. 2024) and of Mistral's models after it: a Transformer over all patches of a
// picture of any size, which turns queries and keys by a patch's row and column. Mistral Small 3.1 joins `merge` x
// `merge` neighbours to a position of the text.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "models/families/registry.h"
#include "models/seeing/eye_parts.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "shaders/matmul/matmul.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"
#include "shaders/swap_axes/swap_axes.h"

namespace vkformer {

namespace {

constexpr double eye_epsilon = 1e-5;
constexpr int64_t most_eye_layers = 1024, most_eye_width = 1 << 16;
constexpr std::string_view joint_heads = "qkv", joint_gates = "gate_up_proj";  ///< what graphs call them as one
constexpr const char *patch_weight = "vision_tower.patch_conv.weight", *first_norm = "vision_tower.ln_pre";
constexpr const char *merging_norm = "multi_modal_projector.norm",
                     *merging = "multi_modal_projector.patch_merger.merging_layer",
                     *into_text = "multi_modal_projector.linear_1", *within_text = "multi_modal_projector.linear_2";

struct Pixtral {
  int64_t layers = 24, width = 1024, heads = 16, inner = 4096;
  int64_t patch = 16, merge = 1;
  int64_t side = 64;  ///< patches to a side of the largest picture
  double theta = 1e4;
  Gate gate = Gate::gelu;
  bool merges = false;  ///< a norm and a matrix make a position of merge x merge patches
  double merge_epsilon = 1e-6;
  Activation activation = Activation::gelu;  ///< between the two layers that follow
  bool bias = true;
  int64_t out = 0;  ///< columns of a position, the text's

  int64_t unit() const { return merge * merge; }
  int64_t head_width() const { return width / heads; }
  int64_t columns() const { return 3 * patch * patch; }
};

std::string layer_of(int64_t layer) { return fmt::format("vision_tower.transformer.layers.{}", layer); }

double theta_of(const JsonObject& json) {
  if (!json.has("rope_parameters")) return number_or(json, "rope_theta", 1e4, 1, 1e12);
  const JsonObject rope = require_object(json, "rope_parameters");
  const std::string type = string_or(rope, "rope_type", "default");
  check(type == "default", "{}: rope_type {} is not supported; \"default\" is", rope.name(), in_quotes(type));
  return number_or(rope, "rope_theta", 1e4, 1, 1e12);
}

/// `merges`: of "mistral3"; a "llava" has a Pixtral's encoder alone.
Pixtral pixtral_of(const JsonObject& config, bool merges, int64_t text_width) {
  const JsonObject json = require_object(config, "vision_config");
  const std::string type = string_or(json, "model_type", "pixtral");
  check(type == "pixtral", "{}: vision_config is of {}; pixtral is supported", config.name(), in_quotes(type));
  Pixtral p{.merges = merges, .out = text_width};
  p.layers = integer_or(json, "num_hidden_layers", 24, 1, most_eye_layers);
  p.width = integer_or(json, "hidden_size", 1024, 1, most_eye_width);
  p.heads = integer_or(json, "num_attention_heads", 16, 1, most_eye_width);
  p.inner = integer_or(json, "intermediate_size", 4096, 1, 4 * most_eye_width);
  p.patch = integer_or(json, "patch_size", 16, 1, 256);
  p.side = integer_or(json, "image_size", 1024, p.patch, 1 << 14) / p.patch;
  p.theta = theta_of(json);
  p.gate = gate_of(json, "hidden_act", "gelu");
  const int64_t channels = integer_or(json, "num_channels", 3, 1, 64);
  check(channels == 3, "{}: num_channels {} is not supported; 3 is", json.name(), channels);
  check(p.width % p.heads == 0 && p.head_width() % 4 == 0 && p.head_width() <= 256,
        "{}: heads of {} / {} columns are not supported; multiples of 4 up to 256 are", json.name(), p.width, p.heads);
  p.layers = feature_layers(config, p.layers, merges ? -1 : -2);
  p.activation = activation_of(config, "projector_hidden_act", "gelu");
  p.bias = boolean_or(config, "multimodal_projector_bias", !merges);
  if (merges) {
    p.merge = integer_or(config, "spatial_merge_size", 2, 1, 64);
    p.merge_epsilon = number_or(require_object(config, "text_config"), "rms_norm_eps", 1e-6, 0, 1);
  } else {
    const std::string strategy = string_or(config, "vision_feature_select_strategy", "default");
    check(strategy == "full", "{}: vision_feature_select_strategy is {}; of Pixtral's eyes \"full\" is supported",
          config.name(), in_quotes(strategy));
  }
  return p;
}

std::vector<ParameterSpec> pixtral_parameters(const Pixtral& p) {
  ParameterList list(0.02);
  const int64_t C = p.width;
  list.normal(patch_weight, {C, 3, p.patch, p.patch});
  list.layer_norm(first_norm, C, false);
  for (int64_t i = 0; i < p.layers; ++i) {
    const std::string layer = layer_of(i), attention = layer + ".attention", mlp = layer + ".feed_forward";
    list.layer_norm(layer + ".attention_norm", C, false);
    list.joint_linear(attention, joint_heads, {{"q_proj", C}, {"k_proj", C}, {"v_proj", C}}, C, false);
    list.linear(attention + ".o_proj", C, C, false);
    list.layer_norm(layer + ".ffn_norm", C, false);
    list.joint_linear(mlp, joint_gates, {{"gate_proj", p.inner}, {"up_proj", p.inner}}, C, false);
    list.linear(mlp + ".down_proj", p.inner, C, false);
  }
  if (p.merges) {
    list.layer_norm(merging_norm, C, false);
    list.linear(merging, p.unit() * C, C, false);
  }
  list.linear(into_text, C, p.out, p.bias);
  list.linear(within_text, p.out, p.out, p.bias);
  return list.take();
}

Value pixtral_layer(Layers& layers, const Pixtral& p, Value x, Value angles, const std::string& name) {
  Graph& graph = layers.graph();
  const int64_t C = p.width, D = p.head_width();
  const std::string attention = name + ".attention", mlp = name + ".feed_forward";
  const Value projected = layers.linear(layers.rms_norm(x, name + ".attention_norm", eye_epsilon),
                                        join_names(attention, joint_heads), 3 * C, {.bias = false});
  const Value turned = rope(graph, projected, angles, {.heads = 2 * p.heads, .head_width = D, .rotary_width = D});
  const Value seen = vkformer::attention(graph, {turned, 0}, {turned, C}, {turned, 2 * C},
                                         {.heads = p.heads, .head_width = D, .causal = false});
  x = layers.linear(seen, attention + ".o_proj", C, {.bias = false, .residual = x});
  const Value both = layers.linear(layers.rms_norm(x, name + ".ffn_norm", eye_epsilon), join_names(mlp, joint_gates),
                                   2 * p.inner, {.bias = false});
  return layers.linear(gated_unit(graph, p.gate, both), mlp + ".down_proj", C, {.bias = false, .residual = x});
}

/// Of views with so many positions: what pixtral_view() gives -> "states" [positions, out].
Graph pixtral_eyes(const Pixtral& p, int64_t positions) {
  Graph graph;
  Layers layers(graph, {});
  const int64_t C = p.width, patches = positions * p.unit();
  const Value angles = graph.input("angles", {patches, p.head_width()});
  const Value weight = reshape(graph, layers.tensor(patch_weight, {C, 3, p.patch, p.patch}), {C, p.columns()});
  Value x = matmul(graph, graph.input("source", {1, patches, p.columns()}), weight, {.transpose_b = true});
  x = layers.rms_norm(x, first_norm, eye_epsilon);
  for (int64_t i = 0; i < p.layers; ++i) {
    const Graph::Scope scope(graph, fmt::format("layer.{}", i));
    x = pixtral_layer(layers, p, x, angles, layer_of(i));
  }
  const Graph::Scope scope(graph, "projector");
  if (p.merges) {
    const Value normed = layers.rms_norm(x, merging_norm, p.merge_epsilon);
    // The matrix has the patches of a position beside each other, column by column of their states.
    const Value blocks = swap_axes(graph, reshape(graph, normed, {positions, p.unit(), C}), 1);
    x = layers.linear(reshape(graph, blocks, {positions, C * p.unit()}), merging, C, {.bias = false});
  }
  x = layers.linear(reshape(graph, x, {positions, C}), into_text, p.out, {.bias = p.bias, .activation = p.activation});
  graph.mark_output(layers.linear(x, within_text, p.out, {.bias = p.bias}), "states");
  return graph;
}

/// "source" [1, patches, columns()] and "angles" [patches, head_width()], cosines and sines of each patch; positions go
/// row by row, and so do the patches of each.
View pixtral_view(const Pixtral& p, std::span<const float> pixels, int64_t height, int64_t width) {
  check(height / p.patch <= p.side && width / p.patch <= p.side,
        "[image] the picture is prepared at {} x {} pixels, but the model takes {} to a side (image_size); lower its "
        "processor's longest_edge",
        width, height, p.side * p.patch);
  View view{.size = height / p.patch * (width / p.patch) / p.unit()};
  std::vector<float>&source = view.floats["source"], &angles = view.floats["angles"];
  const int64_t quarter = p.head_width() / 4;
  const auto add_patch = [&](int64_t row, int64_t column) {
    for (int64_t channel = 0; channel < 3; ++channel)
      for (int64_t y = row * p.patch; y < (row + 1) * p.patch; ++y) {
        const auto begin = pixels.begin() + (channel * height + y) * width + column * p.patch;
        source.insert(source.end(), begin, begin + p.patch);
      }
    for (const bool sine : {false, true})
      for (int64_t i = 0; i < 2 * quarter; ++i) {
        // Rows turn by the frequencies of even numbers, columns by those between.
        const int64_t frequency = i < quarter ? 2 * i : 2 * (i - quarter) + 1;
        const double angle =
            static_cast<double>(i < quarter ? row : column) *
            std::pow(p.theta, -2.0 * static_cast<double>(frequency) / static_cast<double>(p.head_width()));
        angles.push_back(static_cast<float>(sine ? std::sin(angle) : std::cos(angle)));
      }
  };
  const int64_t block = p.merge * p.patch;
  for (int64_t top = 0; top < height / block; ++top)
    for (int64_t left = 0; left < width / block; ++left)
      for (int64_t i = 0; i < p.unit(); ++i) add_patch(top * p.merge + i / p.merge, left * p.merge + i % p.merge);
  return view;
}

}  // namespace

Eyes make_pixtral(const JsonObject& config) {
  check_writer(config);
  const Model text = make_model(config);
  const bool merges = require_string(config, "model_type") == "mistral3";
  const Pixtral p = pixtral_of(config, merges, width_of(text));
  Eyes eyes;
  const char* key = config.has("image_token_index") ? "image_token_index" : "image_token_id";
  eyes.token = picture_token(config, key, merges ? 10 : 32000, text.vocabulary);
  eyes.model.picture = {.patch = p.patch};
  eyes.model.layers = p.layers;
  eyes.model.parameters = pixtral_parameters(p);
  eyes.any_size = {.factor = p.patch * p.merge,
                   .row_end = "[IMG_BREAK]",
                   .end = "[IMG_END]",
                   .view = [p](std::span<const float> pixels, int64_t height,
                               int64_t width) { return pixtral_view(p, pixels, height, width); },
                   .graph = [p](int64_t size) { return pixtral_eyes(p, size); }};
  finish_eyes(eyes, config,
              {{"vision_config",
                {{"model_type", "pixtral"},
                 {"num_hidden_layers", p.layers},
                 {"hidden_size", p.width},
                 {"num_attention_heads", p.heads},
                 {"intermediate_size", p.inner},
                 {"patch_size", p.patch},
                 {"image_size", p.side * p.patch},
                 {"rope_theta", p.theta},
                 {"hidden_act", name_of(static_cast<Activation>(p.gate))}}},
               {"spatial_merge_size", p.merge},
               {"projector_hidden_act", name_of(p.activation)}});
  for (ParameterSpec& parameter : eyes.model.parameters) parameter.other_names = {"model." + parameter.name};
  return eyes;
}

}  // namespace vkformer
