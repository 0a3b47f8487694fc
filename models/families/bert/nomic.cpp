#include "models/families/bert/nomic.h"

#include <algorithm>

#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::bert {

namespace {

constexpr int64_t inner_step = 256;  ///< widths of feed-forward layers are multiples of it, whatever n_inner says

/// What the code that came with those files could do besides.
void refuse_options(const JsonObject& json) {
  for (const char* key : {"causal", "prenorm", "parallel_block", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias",
                          "use_rms_norm", "rotary_emb_interleaved"})
    check(!boolean_or(json, key, false), "{}: {} is not supported", json.name(), key);
  const std::string activation = string_or(json, "activation_function", "swiglu");
  check(activation == "swiglu", "{}: activation_function '{}' is not supported; swiglu is", json.name(),
        printable(activation, 60));
  check(number_or(json, "rotary_emb_fraction", 1, 0, 1) == 1,
        "{}: rotary_emb_fraction must be 1; else is not supported", json.name());
  check(!json.has("rotary_emb_scale_base"), "{}: rotary_emb_scale_base is not supported", json.name());
  const int64_t experts = integer_or(json, "num_experts", 0, 0, most_rows);
  check(integer_or(json, "moe_every_n_layers", experts, 0, most_rows) == 0,
        "{}: a mixture of experts (moe_every_n_layers, num_experts) is not supported", json.name());
}

}  // namespace

// A model that was read from them is written with both.
bool has_older_nomic_keys(const JsonObject& json) { return json.has("n_embd") && !json.has("hidden_size"); }

void read_older_nomic(const JsonObject& json, BertConfig& c) {
  refuse_options(json);
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, most_rows);
  c.width = integer_or(json, "n_embd", c.width, 1, most_width);
  c.layers = integer_or(json, "n_layer", c.layers, 1, most_layers);
  c.heads = integer_or(json, "n_head", c.heads, 1, most_width);
  const int64_t inner = integer_or(json, "n_inner", 8 * c.width / 3, 1, 4 * most_width);
  c.inner = (inner + inner_step - 1) / inner_step * inner_step;
  c.segments = integer_or(json, "type_vocab_size", 2, 1, most_rows);
  c.context = integer_or(json, "n_positions", c.context, 1, most_positions);
  // Longer texts than those it was trained on would turn by other angles.
  if (number_or(json, "rotary_scaling_factor", 0, 0, 1e6) > 0)
    c.context = std::min(c.context, integer_or(json, "max_trained_positions", 2048, 1, most_positions));
  c.rotary = RotaryConfig::from_json(json, {.theta_key = "rotary_emb_base", .theta = usual_nomic_base});
  c.epsilon = number_or(json, "layer_norm_epsilon", c.epsilon, 0, 1);
  c.dropout = c.head_dropout = number_or(json, "resid_pdrop", c.dropout, 0, 0.99);
  c.attention_dropout = number_or(json, "attn_pdrop", c.attention_dropout, 0, 0.99);
}

}  // namespace vkformer::bert
