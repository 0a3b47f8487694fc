#include <algorithm>

#include "models/gguf/config_readers.h"
#include "models/gguf/gguf_rotary.h"
#include "runtime/check.h"

namespace vkformer {

using nlohmann::json;

/// What the first files do not say of the experts' widths, as llama.cpp takes it.
void read_qwen2_moe(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  config["qkv_bias"] = config["attention_bias"];
  const auto inner = config["intermediate_size"].get<int64_t>(), used = config["num_experts_per_tok"].get<int64_t>();
  if (!config.contains("moe_intermediate_size")) config["moe_intermediate_size"] = inner / std::max(used, int64_t{1});
  if (!config.contains("shared_expert_intermediate_size")) config["shared_expert_intermediate_size"] = inner;
}

void check_sigmoids(const GgufSettings& settings) {
  const char* key = "expert_gating_func";
  const int64_t found = settings.has(key) ? settings.integer(key) : gguf_sigmoid;
  check(found == gguf_sigmoid, "{}: key {} is {}; {} (sigmoid) is supported for this architecture",
        settings.shards().name(), settings.name(key), found, gguf_sigmoid);
}

void read_glm4_moe(const GgufSettings& settings, json& config) {
  check_sigmoids(settings);
  read_decoder(settings, config);
  config["num_hidden_layers"] = layers_of(settings.shards(), architecture_of(settings.shards()));
  config["use_qk_norm"] = settings.has_tensor("blk.0.attn_q_norm.weight");
}

/// llama.cpp has experts from the first layer with them to the last.
void read_ernie4_5_moe(const GgufSettings& settings, json& config) {
  read_decoder(settings, config);
  config["moe_layer_end_index"] = -1;
}

/// Of attention the file says what llama.cpp computes, one head of keys, and apart ("_mla") how wide heads are; older
/// ones, which have keys and values of all heads, say only that.
void read_deepseek2(const GgufSettings& settings, json& config) {
  const auto integer_or = [&](const char* key, int64_t otherwise) {
    return settings.has(key) ? settings.integer(key) : otherwise;
  };
  const auto heads = config["num_attention_heads"].get<int64_t>();
  const int64_t layers = layers_of(settings.shards(), architecture_of(settings.shards()));
  const int64_t turned = settings.integer("rope.dimension_count");
  const int64_t width = integer_or("attention.key_length_mla", settings.integer("attention.key_length"));
  check(turned < width, "{}: key {} is {}, heads have {} columns", settings.shards().name(),
        settings.name("rope.dimension_count"), turned, width);
  const bool balanced = settings.has_tensor(fmt::format("blk.{}.exp_probs_b.bias", layers - 1));
  const int64_t weights = integer_or("expert_gating_func", balanced ? gguf_sigmoid : gguf_softmax);
  check(weights == (balanced ? gguf_sigmoid : gguf_softmax),
        "{}: key {} is {}; {} (softmax) without a bias that experts are chosen by and {} (sigmoid) with one are "
        "supported",
        settings.shards().name(), settings.name("expert_gating_func"), weights, gguf_softmax, gguf_sigmoid);
  config.update({{"num_hidden_layers", layers},
                 {"num_key_value_heads", heads},
                 {"head_dim", turned},
                 {"qk_rope_head_dim", turned},
                 {"qk_nope_head_dim", width - turned},
                 {"v_head_dim", integer_or("attention.value_length_mla", settings.integer("attention.value_length"))}});
  if (!config.contains("q_lora_rank")) config["q_lora_rank"] = nullptr;
  constexpr int64_t fewest_in_groups = 160;  // of DeepSeek-V2 and V3, whose older files do not say that they are
  check(config.contains("n_group") || config["n_routed_experts"].get<int64_t>() < fewest_in_groups,
        "{}: has {} experts and no key {}; experts that are chosen by groups are not supported",
        settings.shards().name(), config["n_routed_experts"].get<int64_t>(), settings.name("expert_group_count"));
  check(!settings.has("attention.temperature_scale"), "{}: key {} is not supported for this architecture",
        settings.shards().name(), settings.name("attention.temperature_scale"));
  for (const auto& [key, usual] : {std::pair<const char*, json>{"n_group", 1},
                                   {"topk_group", 1},
                                   {"routed_scaling_factor", 1.0},
                                   {"norm_topk_prob", false}})
    if (!config.contains(key)) config[key] = usual;
  if (balanced) config.update({{"model_type", "deepseek_v3"}, {"architectures", {"DeepseekV3ForCausalLM"}}});
  read_gguf_rotary(settings, config, turned);
  const char* growth = "rope.scaling.yarn_log_multiplier";  // a tenth of Hugging Face's
  if (config.contains("rope_scaling") && config["rope_scaling"]["rope_type"] == "yarn" && settings.has(growth))
    config["rope_scaling"]["mscale"] = config["rope_scaling"]["mscale_all_dim"] =
        shortest_number(10 * settings.number(growth));
}

}  // namespace vkformer
