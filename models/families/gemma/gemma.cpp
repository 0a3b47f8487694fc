#include "models/families/gemma/gemma.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder_config.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// What the three say in different ways.
struct Generation {
  const char* type;
  const char* architecture;
  const char* activation;  ///< the key
  Decoder usual;
};

Decoder usual(const char* family, int64_t vocabulary, int64_t context, int64_t width, int64_t inner, size_t layers) {
  return {.family = family,
          .vocabulary = vocabulary,
          .context = context,
          .width = width,
          .inner = inner,
          .heads = 8,
          .kv_heads = 4,
          .head_width = 256,
          .gate = Gate::gelu_tanh,
          .norms = Decoder::Norms::around,
          .gain_less_one = true,
          .tied = true,
          .layers = std::vector<Decoder::Layer>(layers)};
}

Generation generation_of(const JsonObject& json) {
  const std::string type = require_string(json, "model_type");
  if (type == "gemma2")
    return {"gemma2", "Gemma2ForCausalLM", "hidden_activation", usual("gemma2", 256000, 8192, 2304, 9216, 26)};
  if (type == "gemma3_text") {
    Decoder d = usual("gemma3_text", 262208, 131072, 2304, 9216, 26);
    d.query_norms = Decoder::QueryNorms::head;
    return {"gemma3_text", "Gemma3ForCausalLM", "hidden_activation", d};
  }
  Decoder d = usual("gemma", 256000, 8192, 3072, 24576, 28);
  d.heads = d.kv_heads = 16;
  d.norms = Decoder::Norms::before;
  return {"gemma", "GemmaForCausalLM", json.has("hidden_activation") ? "hidden_activation" : "hidden_act", d};
}

/// In Gemma 2 every other layer has one, in Gemma 3 all but each sixth (its older files have the number under one of
/// two keys).
void read_gemma_windows(const JsonObject& json, Decoder& d) {
  int64_t period = 2;
  if (d.family == "gemma3_text")
    period =
        integer_or(json, "sliding_window_pattern", integer_or(json, "_sliding_window_pattern", 6, 1, 10000), 1, 10000);
  set_windows(json, d, window_of(json, 4096), [&](int64_t layer) { return (layer + 1) % period != 0; });
}

/// Older files have the base of layers with a window under a key of its own.
void read_gemma3_rotaries(const JsonObject& json, Decoder& d) {
  constexpr double usual = 1e4;
  read_rotaries(json, d, 1e6, usual, [&](const RotaryConfig&) {
    return RotaryConfig{.theta = number_or(json, "rope_local_base_freq", usual, 1e-3, 1e12)};
  });
}

nlohmann::json gemma3_rotary_keys(const Decoder& d) {
  nlohmann::json keys = rotary_keys(d);
  keys["rope_local_base_freq"] = d.rotaries[1].theta;
  return keys;
}

/// Present, or null for none.
}  // namespace

Model make_gemma(const JsonObject& json) {
  Generation generation = generation_of(json);
  Decoder& d = generation.usual;
  d.both_ways = boolean_or(json, "use_bidirectional_attention", false);
  if (d.both_ways) {
    check(d.family == "gemma3_text", "{}: use_bidirectional_attention is not supported; gemma3_text's is", json.name());
    generation.architecture = "Gemma3TextModel";
  }
  d.whole_pictures = d.family == "gemma3_text" && !d.both_ways;
  read_decoder(json, d, generation.architecture, generation.activation);
  // Gemma's first files say gelu and mean its approximation, which it was trained with.
  if (d.family == "gemma" && d.gate == Gate::gelu) d.gate = Gate::gelu_tanh;
  d.embedding_scale = std::sqrt(static_cast<double>(d.width));
  d.input_bias = d.output_bias = boolean_or(json, "attention_bias", false);
  nlohmann::json written;
  if (d.family == "gemma") {
    read_rotary(json, d);
    written = d.rotaries[0].keys();
  } else {
    const bool second = d.family == "gemma2";
    const int64_t scalar = integer_or(json, "query_pre_attn_scalar", 256, 1, int64_t{1} << 20);
    d.score_scale = 1 / std::sqrt(static_cast<double>(scalar));
    d.score_cap = read_cap(json, "attn_logit_softcapping", second ? 50 : 0);
    d.logit_cap = read_cap(json, "final_logit_softcapping", second ? 30 : 0);
    read_gemma_windows(json, d);
    if (second)
      read_rotary(json, d);
    else
      read_gemma3_rotaries(json, d);
    written = second ? d.rotaries[0].keys() : gemma3_rotary_keys(d);
    written.update({{"query_pre_attn_scalar", scalar},
                    {"attn_logit_softcapping", cap_or_null(d.score_cap)},
                    {"final_logit_softcapping", cap_or_null(d.logit_cap)},
                    {"sliding_window", sliding_window(d)},
                    {"layer_types", layer_types(d)}});
  }
  written["attention_bias"] = d.input_bias;
  if (d.both_ways) written["use_bidirectional_attention"] = true;
  written.update(decoder_keys(d, generation.architecture, generation.activation));
  return make_decoder(d, written);
}

}  // namespace vkformer
