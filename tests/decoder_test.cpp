// Families that are a Decoder: what their configs say, old and new, and what is refused.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/cohere/cohere.h"
#include "models/families/decoder/decoder.h"
#include "models/families/deepseek/deepseek.h"
#include "models/families/ernie4_5/ernie4_5.h"
#include "models/families/exaone4/exaone4.h"
#include "models/families/falcon_h1/falcon_h1.h"
#include "models/families/gemma/gemma.h"
#include "models/families/gemma4/gemma4.h"
#include "models/families/glm/glm.h"
#include "models/families/glm4_moe/glm4_moe.h"
#include "models/families/gpt_neox/gpt_neox.h"
#include "models/families/gpt_oss/gpt_oss.h"
#include "models/families/granite/granite.h"
#include "models/families/hunyuan/hunyuan.h"
#include "models/families/lfm2/lfm2.h"
#include "models/families/llama/llama.h"
#include "models/families/ministral3/ministral3.h"
#include "models/families/mixtral/mixtral.h"
#include "models/families/nanochat/nanochat.h"
#include "models/families/nemotron_h/nemotron_h.h"
#include "models/families/olmo/olmo.h"
#include "models/families/olmo2/olmo2.h"
#include "models/families/olmo3/olmo3.h"
#include "models/families/olmoe/olmoe.h"
#include "models/families/phi/phi.h"
#include "models/families/phi3/phi3.h"
#include "models/families/qwen2_moe/qwen2_moe.h"
#include "models/families/qwen3/qwen3.h"
#include "models/families/qwen3_5/qwen3_5.h"
#include "models/families/seed_oss/seed_oss.h"
#include "models/families/smollm3/smollm3.h"
#include "models/families/stablelm/stablelm.h"
#include "models/families/starcoder2/starcoder2.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

struct Recorded {
  const char* fixture;
  Model (*make)(const JsonObject& config);
};

const Recorded recorded[] = {{"gemma", make_gemma},
                             {"gemma2", make_gemma},
                             {"gemma3", make_gemma},
                             {"gemma4", make_gemma4},
                             {"gemma4_small", make_gemma4},
                             {"gemma4_moe", make_gemma4},
                             {"qwen3", make_qwen3},
                             {"phi3", make_phi3},
                             {"phi3_short", make_phi3},
                             {"phi3_long", make_phi3},
                             {"olmo2", make_olmo2},
                             {"smollm3", make_smollm3},
                             {"llama_yarn", make_llama},
                             {"mixtral", make_mixtral},
                             {"granite", make_granite},
                             {"granitemoe", make_granite},
                             {"granite4", make_granite},
                             {"granite4_mamba", make_granite},
                             {"lfm2", make_lfm2},
                             {"lfm2_moe", make_lfm2},
                             {"glm4_moe", make_glm4_moe},
                             {"ernie4_5_moe", make_ernie4_5_moe},
                             {"qwen3_next", make_qwen3_5},
                             {"deepseek_v2", make_deepseek},
                             {"deepseek_v3", make_deepseek},
                             {"glm4_moe_lite", make_deepseek},
                             {"olmoe", make_olmoe},
                             {"qwen2_moe", make_qwen2_moe},
                             {"olmo3", make_olmo3},
                             {"olmo", make_olmo},
                             {"stablelm", make_stablelm},
                             {"phi", make_phi},
                             {"starcoder2", make_starcoder2},
                             {"gpt_neox", make_gpt_neox},
                             {"gpt_oss", make_gpt_oss},
                             {"arcee", make_llama},
                             {"ministral3", make_ministral3},
                             {"glm", make_glm},
                             {"glm4", make_glm},
                             {"cohere", make_cohere},
                             {"cohere2", make_cohere},
                             {"ernie4_5", make_ernie4_5},
                             {"exaone4", make_exaone4},
                             {"hunyuan", make_hunyuan},
                             {"hunyuan_moe", make_hunyuan},
                             {"seed_oss", make_seed_oss},
                             {"nanochat", make_nanochat},
                             {"falcon_h1", make_falcon_h1},
                             {"falcon_h1_normed", make_falcon_h1},
                             {"nemotron_h", make_nemotron_h},
                             {"nemotron_h_moe", make_nemotron_h},
                             {"nemotron_h_latent", make_nemotron_h},
                             {"qwen3_5", make_qwen3_5},
                             {"qwen3_5_moe", make_qwen3_5}};

json fixture_with(const std::string& fixture, const json& changes = json::object(),
                  std::initializer_list<const char*> without = {}) {
  json config = JsonObject::load(fixtures / fixture / "config.json").value();
  for (const char* key : without) config.erase(key);
  if (!changes.is_null()) config.update(changes);
  return config;
}

RotaryConfig rotary_of(const json& parameters, int64_t context) {
  const JsonObject config = JsonObject::parse(json{{"rope_parameters", parameters}}.dump(), "config.json");
  return RotaryConfig::from_json(config, {.context = context});
}

json written(const Recorded& family, const json& config) {
  return *family.make(JsonObject::parse(config.dump(), "config.json")).config;
}

}  // namespace

TEST_CASE("configs of decoders mean the same in each spelling", "[config][decoder]") {
  for (const Recorded& family : recorded) {
    INFO(family.fixture);
    const json current = written(family, fixture_with(family.fixture));
    if (family.make != make_gemma4)  // of which there are no older files
      CHECK(current == written(family, JsonObject::load(fixtures / family.fixture / "config_legacy.json").value()));
    CHECK(current == written(family, current));
  }
}

TEST_CASE("layers have windows by their types, or by each family's rule", "[config][decoder]") {
  const json local = "sliding_attention", global = "full_attention";
  const auto types = [](const Recorded& family, const json& config) { return written(family, config)["layer_types"]; };
  const Recorded gemma{"gemma2", make_gemma}, qwen3{"qwen3", make_qwen3}, smollm3{"smollm3", make_smollm3};
  const std::initializer_list<const char*> untold = {"layer_types"};
  CHECK(types(gemma, fixture_with("gemma2", {{"num_hidden_layers", 4}}, untold)) == json{local, global, local, global});
  CHECK(types(gemma, fixture_with("gemma2", {{"layer_types", {global, local, local}}})) == json{global, local, local});
  CHECK(types(gemma, fixture_with("gemma3", {{"num_hidden_layers", 7}}, untold)) ==
        json{local, local, local, local, local, global, local});
  CHECK(types(gemma, fixture_with("gemma3", {{"sliding_window_pattern", 2}}, untold)) == json{local, global, local});
  const json upper =
      fixture_with("qwen3", {{"use_sliding_window", true}, {"sliding_window", 7}, {"max_window_layers", 1}}, untold);
  CHECK(types(qwen3, upper) == json{global, local});
  CHECK(written(qwen3, upper)["max_window_layers"] == 1);
  CHECK(types(smollm3, fixture_with("smollm3", {{"use_sliding_window", true}, {"sliding_window", 7}}, untold)) ==
        json{global, local});
  const json olmo3 = written({"olmo3", make_olmo3}, fixture_with("olmo3", {{"num_hidden_layers", 5}}, untold));
  CHECK(olmo3["layer_types"] == json{local, local, local, global, local});
  CHECK(olmo3["rope_parameters"][global]["rope_type"] == "yarn");
  CHECK(olmo3["rope_parameters"][local]["rope_type"] == "default");
  for (const Recorded& family : {Recorded{"cohere2", make_cohere}, Recorded{"exaone4", make_exaone4}})
    CHECK(types(family, fixture_with(family.fixture, {{"num_hidden_layers", 5}, {"sliding_window_pattern", 3}},
                                     untold)) == json{local, local, global, local, local});
  const json untied =
      written({"ernie4_5", make_ernie4_5}, fixture_with("ernie4_5", {{"architectures", {"Ernie4_5_ForCausalLM"}},
                                                                     {"head_dim", nullptr},
                                                                     {"num_key_value_heads", nullptr}}));
  CHECK(untied["architectures"] == json{"Ernie4_5ForCausalLM"});
  CHECK(untied["head_dim"] == 6);
  CHECK(untied["num_key_value_heads"] == 3);
  const json grown = written({"ministral3", make_ministral3}, fixture_with("ministral3", {}, {"rope_parameters"}));
  CHECK(grown["rope_parameters"]["original_max_position_embeddings"] == 16384);
  CHECK(grown["rope_parameters"]["attention_factor"] == 1);
  CHECK(grown["rope_parameters"]["llama_4_scaling_beta"] == 0.1);
  const json small = written({"exaone4", make_exaone4}, fixture_with("exaone4", {{"sliding_window", nullptr}}, untold));
  CHECK(small["layer_types"] == json{global, global, global, global});
  CHECK(small["sliding_window"].is_null());
  CHECK(written(smollm3, fixture_with("smollm3", {{"num_hidden_layers", 5}},
                                      {"layer_types", "no_rope_layers"}))["no_rope_layers"] == json{1, 1, 1, 0, 1});
}

TEST_CASE("yarn interpolates between the columns that turn often and those that turn seldom", "[config][decoder]") {
  const json parameters = {{"rope_type", "yarn"}, {"factor", 40}, {"original_max_position_embeddings", 4096}};
  const RotaryConfig plain, yarn = rotary_of(parameters, 163840);
  // Column 20.9 of 128 turns 32 times in 4096 positions, column 45.03 once.
  CHECK(yarn.frequency(20, 128) == plain.frequency(20, 128));
  CHECK(yarn.frequency(46, 128) == plain.frequency(46, 128) / 40);
  CHECK(std::abs(yarn.frequency(33, 128) / plain.frequency(33, 128) - (0.5 + 0.5 / 40)) < 1e-12);
  CHECK(std::abs(yarn.attention_factor - (0.1 * std::log(40.0) + 1)) < 1e-12);
  const auto with = [&](const json& changes) {
    json more = parameters;
    more.update(changes);
    return rotary_of(more, 163840);
  };
  CHECK(with({{"mscale", 0.707}, {"mscale_all_dim", 0.707}}).attention_factor == 1);
  CHECK(std::abs(with({{"mscale", 1.0}, {"mscale_all_dim", 0.5}}).attention_factor -
                 (0.1 * std::log(40.0) + 1) / (0.05 * std::log(40.0) + 1)) < 1e-12);
  CHECK(with({{"attention_factor", 0.5}}).attention_factor == 0.5);
  CHECK(with({{"factor", nullptr}}).factor == 40);
  const double low = 64 * std::log(4096 / (64 * std::acos(-1.0))) / std::log(10000.0);
  const double high = 64 * std::log(4096 / (2 * std::acos(-1.0))) / std::log(10000.0);
  const double stretch = (33 - low) / (high - low);
  CHECK(std::abs(with({{"truncate", false}}).frequency(33, 128) / plain.frequency(33, 128) -
                 (1 - stretch + stretch / 40)) < 1e-12);
  const auto table = with({{"attention_factor", 0.5}}).table(1, 4);
  CHECK(table == std::vector<float>{0.5f, 0.5f, 0, 0});
}

TEST_CASE("longrope has factors for short texts and for long ones", "[config][decoder]") {
  const RotaryConfig plain, rotary = rotary_of({{"type", "su"},
                                                {"short_factor", {1.0, 2.0}},
                                                {"long_factor", {4.0, 8.0}},
                                                {"original_max_position_embeddings", 4096}},
                                               131072);
  CHECK(rotary.frequency(1, 4) == plain.frequency(1, 4) / 2);
  CHECK(rotary.frequency(1, 4, true) == plain.frequency(1, 4) / 8);
  CHECK_FALSE(rotary.stretches(4096));
  CHECK(rotary.stretches(4097));
  CHECK(std::abs(rotary.attention_factor - std::sqrt(1 + std::log(32.0) / std::log(4096.0))) < 1e-12);
}

TEST_CASE("Gemma's first files mean the approximation of GELU, whatever they say", "[config][decoder]") {
  const auto written = [](const json& changes) { return model_of(fixture_with("gemma", changes)).config->dump(); };
  const std::string recorded = written(json::object());
  CHECK(written({{"hidden_act", "gelu"}}) == recorded);
  CHECK(written({{"hidden_act", "gelu"}, {"hidden_activation", nullptr}}).find("gelu_pytorch_tanh") !=
        std::string::npos);
  CHECK(written({{"hidden_act", "gelu"}, {"hidden_activation", "relu"}}).find("\"relu\"") != std::string::npos);
}

TEST_CASE("Gemma 4's layers without a window are told by one key or each by its own", "[config][decoder]") {
  const json one = fixture_with("gemma4");
  json each =
      fixture_with("gemma4", {{"per_layer_config", json::object()}}, {"global_head_dim", "num_global_key_value_heads"});
  for (const char* layer : {"0", "2"}) each["per_layer_config"][layer] = {{"head_dim", 10}, {"num_key_value_heads", 1}};
  const Model model = model_of(each);
  CHECK(model.config->at("global_head_dim") == one["global_head_dim"]);
  CHECK(model.config->at("num_global_key_value_heads") == one["num_global_key_value_heads"]);
}

TEST_CASE("of a model that also sees, the part that writes is run", "[config][decoder]") {
  json text = fixture_with("gemma3", json::object());
  const json vision = {{"model_type", "siglip_vision_model"}};
  text.erase("architectures");
  text.erase("eos_token_id");
  const json both = {{"model_type", "gemma3"},
                     {"architectures", {"Gemma3ForConditionalGeneration"}},
                     {"text_config", text},
                     {"vision_config", vision},
                     {"eos_token_id", {1, 106}}};
  const Model model = model_of(both);
  CHECK(model.family == "gemma3_text");
  CHECK(model.config->at("eos_token_id") == json{1, 106});
  // transformers writes the head's tie above, and beside it what the part would be by itself.
  json untied = both;
  untied["text_config"]["tie_word_embeddings"] = false;
  untied["tie_word_embeddings"] = true;
  CHECK(model_of(untied).config->at("tie_word_embeddings") == true);
  const json unknown = {{"model_type", "timm_wrapper"}};
  check_refused({{"model_type", "gemma3"}, {"text_config", unknown}}, "model_type 'gemma3' is not supported");
}

TEST_CASE("wrong configs of decoders name the file and the key", "[config][decoder]") {
  const auto says = [](const std::string& fixture, const json& changes, const std::string& word) {
    INFO(fixture << " " << changes.dump());
    check_refused(fixture_with(fixture, changes), word);
  };
  says("gemma", {{"use_bidirectional_attention", true}}, "use_bidirectional_attention");
  says("gemma2", {{"attn_logit_softcapping", "x"}}, "attn_logit_softcapping");
  says("gemma2", {{"final_logit_softcapping", -1}}, "final_logit_softcapping");
  says("gemma2", {{"hidden_activation", "quick_gelu"}}, "quick_gelu");
  says("gemma2", {{"query_pre_attn_scalar", 0}}, "query_pre_attn_scalar");
  says("gemma2", {{"layer_types", {"full_attention"}}}, "layer_types");
  says("gemma2", {{"layer_types", {"full_attention", "full_attention", "chunked_attention"}}}, "layer_types");
  says("gemma3", {{"sliding_window", nullptr}}, "sliding_window");
  says("gemma3", {{"rope_parameters", {{"full_attention", {{"rope_type", "default"}}}}}}, "sliding_attention");
  says("gemma4", {{"use_bidirectional_attention", "all"}}, "use_bidirectional_attention must be null or");
  says("gemma4", {{"global_head_dim", 11}}, "global_head_dim 11 is odd");
  says("gemma4", {{"global_head_dim", nullptr}, {"per_layer_config", {{"0", {{"head_dim", 10}}}}}},
       "per_layer_config of layer 2 has head_dim 512, another layer without a window 10");
  says("gemma4", {{"num_global_key_value_heads", 3}}, "not a multiple of num_global_key_value_heads 3");
  says("gemma4", {{"num_kv_shared_layers", 3}}, "num_kv_shared_layers");
  says("gemma4", {{"num_kv_shared_layers", 2}}, "layer 1 shares keys (num_kv_shared_layers), but none of the 1");
  says("gemma4_small", {{"vocab_size_per_layer_input", 60}}, "vocab_size_per_layer_input 60 is less");
  says("gemma4_moe", {{"top_k_experts", 6}}, "top_k_experts is 6, num_experts is 5");
  says("gemma3", {{"rope_parameters", {{"full_attention", {{"rope_type", "proportional"}}}}}},
       "'proportional' is not supported");
  says("qwen3", {{"layer_types", {"full_attention", "sliding_attention"}}}, "sliding_window");
  says("qwen3", {{"partial_rotary_factor", 0.5}}, "partial_rotary_factor");
  says("olmo2", {{"rope_parameters", {{"rope_type", "ntk"}, {"factor", 2}}}}, "ntk");
  for (const char* key : {"embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling"})
    says("granite", {{key, 0}}, key);
  says("granite4", {{"layer_types", {"attention"}}}, "layer_types must name \"mamba\" or \"attention\" for each of");
  says("granite4", {{"layer_types", {"attention", "window", "attention"}}}, "layer_types");
  says("granite4_mamba", {{"mamba_d_head", 8}}, "6 heads of 8 (mamba_n_heads, mamba_d_head) are not");
  says("granite4_mamba", {{"mamba_n_groups", 4}}, "mamba_n_heads 6 is not a multiple of mamba_n_groups 4");
  says("granite4_mamba", {{"time_step_limit", {0.0, 0.1}}}, "time_step_limit is not supported");
  says("falcon_h1", {{"mamba_d_head", 4}}, "6 heads of 4 (mamba_n_heads, mamba_d_head) are not the 30 columns");
  says("falcon_h1", {{"mamba_n_groups", 4}}, "mamba_n_heads 6 is not a multiple of mamba_n_groups 4");
  says("falcon_h1", {{"projectors_bias", true}}, "projectors_bias must be what mamba_proj_bias is");
  says("falcon_h1", {{"ssm_multipliers", {1, 1, 1, 1}}}, "ssm_multipliers must be a list of 5 numbers");
  says("falcon_h1", {{"mlp_multipliers", {0, 1}}}, "mlp_multipliers must be a list of 2 numbers");
  says("falcon_h1", {{"hidden_act", "gelu"}}, "hidden_act must be silu");
  says("falcon_h1", {{"mlp_bias", true}}, "mlp_bias is not supported beside a factor 0.7");
  says("falcon_h1", {{"attention_bias", true}}, "attention_bias is not supported beside a factor 0.8");
  says("falcon_h1_normed", {{"ssm_in_multiplier", 2}}, "mamba_proj_bias is not supported beside a factor 2");
  says("nemotron_h", {{"layers_block_type", {"mamba", "conv"}}},
       "layers_block_type must name \"mamba\" or \"attention\"");
  says("nemotron_h", {{"layers_block_type", nullptr}, {"hybrid_override_pattern", "M-X"}},
       "hybrid_override_pattern has \"X\"; layers are M, *, E and -");
  says("nemotron_h", {{"num_hidden_layers", 7}}, "layers_block_type is of 5 layers, num_hidden_layers is 7");
  says("nemotron_h", {{"n_groups", 4}}, "mamba_num_heads 6 is not a multiple of n_groups 4");
  says("nemotron_h", {{"mlp_hidden_act", "silu"}}, "mlp_hidden_act must be relu2");
  says("nemotron_h", {{"mamba_hidden_act", "relu"}}, "mamba_hidden_act must be silu");
  says("nemotron_h", {{"time_step_limit", {0.0, 0.1}}}, "time_step_limit is not supported");
  says("nemotron_h", {{"sliding_window", 5}}, "sliding_window is not supported");
  says("nemotron_h_moe", {{"n_group", 5}}, "n_group is 5; experts that are chosen by groups are not supported");
  says("nemotron_h_latent", {{"moe_latent_size", 0}}, "moe_latent_size");
  says("lfm2", {{"layer_types", {"conv"}}}, "layer_types must name \"conv\" or");
  says("lfm2", {{"layer_types", nullptr}, {"full_attn_idxs", "all"}}, "full_attn_idxs must be a list");
  for (const int outside : {-1, 4})
    says("lfm2", {{"layer_types", nullptr}, {"full_attn_idxs", {0, outside}}}, "layers' numbers, from 0 to 3");
  says("lfm2", {{"conv_L_cache", 1}}, "conv_L_cache");
  says("lfm2_moe", {{"num_experts_per_tok", 6}}, "num_experts_per_tok is 6, num_experts is 5");
  says("ernie4_5_moe", {{"moe_k", 6}}, "moe_k is 6, moe_num_experts is 5");
  says("hunyuan_moe", {{"moe_topk", 6}}, "moe_topk is 6, num_experts is 5");
  says("hunyuan_moe", {{"moe_topk", {2, 1}}}, "moe_topk differs from layer to layer");
  says("hunyuan_moe", {{"use_cla", true}}, "use_cla");
  says("hunyuan_moe", {{"use_mixed_mlp_moe", false}}, "use_mixed_mlp_moe must be true");
  says("hunyuan_moe", {{"moe_layer_num_skipped", 1}}, "moe_layer_num_skipped");
  const json lists = fixture_with("hunyuan_moe",
                                  {{"moe_topk", {2, 2}},
                                   {"num_experts", {5, 5}},
                                   {"moe_intermediate_size", {7, 7}},
                                   {"num_shared_expert", {1, 1}},
                                   {"attention_head_dim", 6}},
                                  {"head_dim"});
  CHECK(written({"hunyuan_moe", make_hunyuan}, lists) ==
        written({"hunyuan_moe", make_hunyuan}, fixture_with("hunyuan_moe")));
  says("glm4_moe", {{"n_routed_experts", 1}}, "num_experts_per_tok is 2, n_routed_experts is 1");
  says("glm4_moe", {{"n_group", 5}}, "n_group is 5; experts that are chosen by groups are not supported");
  nlohmann::json of_v3 = fixture_config("deepseek_v3");
  of_v3.erase("routed_scaling_factor");
  CHECK(make_model(JsonObject::make(of_v3, "config.json")).config->at("routed_scaling_factor") == 2.5);
  says("deepseek_v2", {{"scoring_func", "sigmoid"}}, "scoring_func must be softmax for deepseek_v2");
  says("deepseek_v2", {{"qk_rope_head_dim", 5}}, "qk_rope_head_dim 5 is odd");
  says("deepseek_v2", {{"mlp_bias", true}}, "mlp_bias");
  says("deepseek_v3", {{"n_group", nullptr}}, "n_group is 8; experts that are chosen by groups are not supported");
  says("deepseek_v3", {{"num_key_value_heads", 1}}, "num_key_value_heads is 1, num_attention_heads 3");
  says("deepseek_v3", {{"kv_lora_rank", 573}}, "kv_lora_rank 573 and qk_rope_head_dim 4 are more than 576 together");
  says("glm4_moe_lite", {{"mlp_layer_types", {"dense"}}}, "mlp_layer_types must name \"dense\" or \"sparse\"");
  says("granite4", {{"position_embedding_type", "alibi"}}, "position_embedding_type");
  says("qwen3_5", {{"layer_types", {"linear_attention"}}}, "layer_types must name \"linear_attention\" or");
  says("qwen3_5", {{"linear_num_value_heads", 3}}, "linear_num_value_heads 3 is not a multiple of");
  says("qwen3_5", {{"linear_conv_kernel_dim", 9}}, "linear_conv_kernel_dim");
  says("qwen3_5", {{"attn_output_gate", false}}, "attn_output_gate must be true");
  says("qwen3_5", {{"linear_key_head_dim", 257}}, "linear_key_head_dim");
  says("olmoe", {{"clip_qkv", 8}}, "clip_qkv");
  says("cohere", {{"use_qk_norm", true}}, "use_qk_norm");
  says("cohere", {{"logit_scale", 0}}, "logit_scale");
  says("cohere2", {{"layer_types", {"full_attention"}}}, "layer_types");
  says("arcee", {{"hidden_act", "silu"}}, "hidden_act must be relu2");
  says("glm4", {{"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.4}}}},
       "partial_rotary_factor");
  says("qwen2_moe", {{"use_sliding_window", true}}, "use_sliding_window");
  says("qwen2_moe", {{"shared_expert_intermediate_size", 0}}, "shared_expert_intermediate_size");
  says("smollm3", {{"no_rope_layers", {1}}}, "no_rope_layers");
  says("smollm3", {{"no_rope_layers", {1, 2}}}, "no_rope_layers");
  says("phi3", {{"rope_parameters", {{"rope_type", "default"}, {"partial_rotary_factor", 0.2}}}}, "3 columns");
  json parameters = fixture_with("phi3_long")["rope_parameters"];
  for (const json& factors : {json{1, 2}, json{1, 2, 3, 4}, json{1, "x", 3}, json{1, 0, 3}, json(nullptr), json("x")}) {
    parameters["long_factor"] = factors;
    says("phi3_long", {{"rope_parameters", parameters}}, "long_factor");
  }
}
