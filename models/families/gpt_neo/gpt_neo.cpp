#include "models/families/gpt_neo/gpt_neo.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/layer_norm_decoder/layer_norm_decoder_config.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr const char *list_key = "attention_layers", *groups_key = "attention_types";

/// "global" or "local" for each of so many layers: a list of them, or groups [kinds, times], or every other one.
nlohmann::json kinds_of_layers(const JsonObject& json, size_t layers) {
  nlohmann::json kinds = nlohmann::json::array();
  if (json.has(list_key)) {
    kinds = json.value()[list_key];
  } else if (json.has(groups_key)) {
    const nlohmann::json& groups = json.value()[groups_key];
    for (const nlohmann::json& group : groups.is_array() ? groups : nlohmann::json::array()) {
      const bool sound = group.is_array() && group.size() == 2 && group[0].is_array() && !group[0].empty() &&
                         group[1].is_number_integer();
      check(sound, "{}: {} has {}, not a list of kinds and how many times it holds", json.name(), groups_key,
            printable(group.dump(), 60));
      for (int64_t i = 0; i < group[1].get<int64_t>() && kinds.size() <= layers; ++i)
        kinds.insert(kinds.end(), group[0].begin(), group[0].end());
    }
  } else {
    for (size_t i = 0; i < layers; ++i) kinds.push_back(i % 2 == 0 ? "global" : "local");
  }
  const bool sound = kinds.is_array() && kinds.size() == layers &&
                     std::ranges::all_of(kinds, [](const auto& kind) { return kind == "global" || kind == "local"; });
  check(sound, "{}: {} must name \"global\" or \"local\" for each of the {} layers", json.name(),
        json.has(list_key) ? list_key : groups_key, layers);
  return kinds;
}

}  // namespace

Model make_gpt_neo(const JsonObject& json) {
  constexpr LayerNormDecoderKeys keys{.architecture = "GPTNeoForCausalLM",
                                      .layers = "num_layers",
                                      .heads = "num_heads",
                                      .activation = "activation_function",
                                      .epsilon = "layer_norm_epsilon",
                                      .embedding_dropout = "embed_dropout",
                                      .output_dropout = "resid_dropout"};
  LayerNormDecoder d{.family = "gpt_neo",
                     .names = {.tokens = "transformer.wte",
                               .positions = "transformer.wpe",
                               .layer = "transformer.h",
                               .first_norm = "ln_1",
                               .second_norm = "ln_2",
                               .attention = "attn.attention",
                               .attention_output = "attn.attention.out_proj",
                               .inner = "mlp.c_fc",
                               .outer = "mlp.c_proj",
                               .last_norm = "transformer.ln_f"},
                     .inner = 0,
                     .windows = std::vector<int64_t>(24),
                     .score_scale = 1,
                     .input_bias = false,
                     .tied = true};
  read_layer_norm_decoder(json, d, keys);
  const int64_t window = integer_or(json, "window_size", 256, 1, int64_t{1} << 40);
  const nlohmann::json kinds = kinds_of_layers(json, d.windows.size());
  for (size_t i = 0; i < d.windows.size(); ++i) d.windows[i] = kinds[i] == "local" ? window : 0;
  return make_layer_norm_decoder(
      d, keys, {{"window_size", window}, {list_key, kinds}, {groups_key, {nlohmann::json::array({kinds, 1})}}});
}

}  // namespace vkformer
