// Settings of models in GGUF files: rotary positions and windows, and what can't be said is refused.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/gguf/architectures.h"
#include "models/gguf/gguf_weights.h"
#include "models/model_files.h"
#include "tests/gguf_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

TEST_CASE("GGUF files have Hunyuan's base of rotary positions grown already", "[gguf]") {
  const TemporaryFolder folder;
  for (const char* fixture : {"hunyuan", "hunyuan_moe"}) {
    INFO(fixture);
    const auto file = write_fixture(folder, fixture, "f32");
    const Model before = load_model(fixtures / fixture), after = load_model(file);
    const Weights theirs(after.parameters, file);
    CHECK(theirs.extra().empty());
    CHECK(theirs.absent().empty());
    CHECK(before.config->at("rope_theta") == 1e4);
    CHECK(after.config->at("rope_theta") > 1.1e5);
    const std::vector<float> a = before.constants.at(0).values(), b = after.constants.at(0).values();
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-6f);
  }
}

TEST_CASE("a list says which layers of an OLMo 3 have a window, or a period", "[gguf]") {
  const TemporaryFolder folder;
  const json config = *load_model(fixtures / "olmo3").config;
  const GgufFile whole(write_fixture(folder, "olmo3", "f32"));
  const auto types = [&](std::initializer_list<int32_t> list) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "olmo2");
    json other = config;
    other["model_type"] = "olmo2";  // which has no period
    add_config(pairs, *find_architecture("olmo2"), other);
    if (list.size() > 0) pairs.add_integers("olmo2.attention.sliding_window_pattern", std::vector<int32_t>(list));
    return config_with(folder, pairs, whole)["layer_types"];
  };
  const json local = "sliding_attention", global = "full_attention";
  CHECK(types({}) == json{local, local, local, global});
  CHECK(types({1, 0, 0, 1}) == json{local, global, global, local});
  CHECK_THAT(error_of([&] { types({1, 0}); }), ContainsSubstring("sliding_window_pattern has 2 values for 4 layers"));
}

TEST_CASE("layers of an LFM2 without heads of keys have a short convolution", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "lfm2_moe", "f32"));
  json config = *load_model(fixtures / "lfm2").config;
  const auto read_with = [&](bool causal) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "lfm2");
    add_config(pairs, *find_architecture("lfm2"), config);
    pairs.add_boolean("lfm2.attention.causal", causal);
    return config_with(folder, pairs, whole);
  };
  const auto read = [&] { return read_with(true); };
  CHECK_THAT(error_of(read), ContainsSubstring("can't say \"conv_bias\" true"));
  config["conv_bias"] = false;
  for (const char* key : {"layer_types", "num_key_value_heads", "intermediate_size", "conv_L_cache", "norm_eps"})
    CHECK(read()[key].get<json>() == json(config[key]));
  CHECK_THAT(error_of([&] { read_with(false); }), ContainsSubstring("a lfm2 that sees both ways is not supported"));
}

TEST_CASE("what only some files of Granite say", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "granite", "f32"));
  const json config = *load_model(fixtures / "granite").config;
  const auto layers = config.at("num_hidden_layers").get<size_t>();
  const auto read = [&](std::vector<int32_t> heads, uint32_t shared) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "granite");
    for (const auto& [key, theirs] : {std::pair{"context_length", "max_position_embeddings"},
                                      {"embedding_length", "hidden_size"},
                                      {"block_count", "num_hidden_layers"},
                                      {"feed_forward_length", "intermediate_size"},
                                      {"attention.head_count", "num_attention_heads"}})
      pairs.add_integer(std::string("granite.") + key, config.at(theirs).get<uint32_t>());
    pairs.add_integers("granite.attention.head_count_kv", heads);
    pairs.add_number("granite.attention.layer_norm_rms_epsilon", 1e-5f);
    pairs.add_number("granite.logit_scale", 2);
    pairs.add_integer("granite.expert_shared_feed_forward_length", shared);
    return config_with(folder, pairs, whole);
  };
  std::vector<int32_t> unlike(layers, 2);
  unlike.back() = 1;
  CHECK_THAT(error_of([&] { read(unlike, 0); }), ContainsSubstring("head_count_kv has other heads for some layers"));
  CHECK(read(std::vector<int32_t>(layers, 2), 7).at("num_key_value_heads") == 2);  // of the feed-forward layers
}

TEST_CASE("layers of a Granite 4 without heads of keys have state spaces", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "granite4", "f32"));  // of feed-forward layers it has the same tensors
  json config = *load_model(fixtures / "granite4_mamba").config;
  const auto read = [&] {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "granitehybrid");
    add_config(pairs, *find_architecture("granitehybrid"), config);
    return config_with(folder, pairs, whole);
  };
  CHECK_THAT(error_of(read), ContainsSubstring("can't say \"mamba_n_groups\" 2"));
  config.update({{"mamba_n_groups", 1}, {"mamba_proj_bias", false}, {"num_local_experts", 0}});
  const json found = read();
  for (const char* key : {"layer_types", "num_key_value_heads", "mamba_expand", "mamba_n_heads", "mamba_d_head",
                          "mamba_d_state", "mamba_d_conv", "position_embedding_type", "num_local_experts"})
    CHECK(found.at(key) == config.at(key));
  CHECK(found.at("shared_intermediate_size") == 19);
  CHECK(make_model(JsonObject::make(found, "config.json")).constants.empty());  // nothing turns
}

TEST_CASE("layers of a Nemotron-H have heads of keys, a feed-forward layer or a state space", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "nemotron_h_moe", "f32"));
  json config = *load_model(fixtures / "nemotron_h").config;
  const auto read = [&](const char* architecture) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", architecture);
    add_config(pairs, *find_architecture(architecture), config);
    return config_with(folder, pairs, whole);
  };
  CHECK_THAT(error_of([&] { read("nemotron_h"); }), ContainsSubstring("can't say \"use_bias\" true"));
  config["use_bias"] = false;
  const json found = read("nemotron_h");
  for (const char* key : {"model_type", "layers_block_type", "num_key_value_heads", "head_dim", "intermediate_size",
                          "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "n_groups", "conv_kernel"})
    CHECK(found.at(key) == config.at(key));
  CHECK_FALSE(found.at("mlp_bias"));  // as the tensors have it
  GgufPairs both;
  both.add_text("general.architecture", "nemotron_h");
  for (const auto& [key, theirs] : {std::pair{"context_length", "max_position_embeddings"},
                                    {"embedding_length", "hidden_size"},
                                    {"block_count", "num_hidden_layers"},
                                    {"attention.head_count", "num_attention_heads"},
                                    {"ssm.conv_kernel", "conv_kernel"},
                                    {"ssm.state_size", "ssm_state_size"},
                                    {"ssm.group_count", "n_groups"},
                                    {"ssm.time_step_rank", "mamba_num_heads"}})
    both.add_integer(std::string("nemotron_h.") + key, config.at(theirs).get<uint32_t>());
  both.add_number("nemotron_h.attention.layer_norm_epsilon", 1e-5f);
  both.add_integers("nemotron_h.attention.head_count_kv", std::vector<int32_t>{1, 0, 0, 0, 0});
  both.add_integers("nemotron_h.feed_forward_length", std::vector<int32_t>{11, 0, 11, 0, 11});
  CHECK_THAT(error_of([&] { config_with(folder, both, whole); }),
             ContainsSubstring("feed_forward_length give layer 0 both"));
  config.update({{"model_type", "nemotron_h_moe"}, {"mlp_bias", false}});
  CHECK_THAT(error_of([&] { read("nemotron_h_moe"); }), ContainsSubstring("layers with experts stand beside"));
}

TEST_CASE("how scores of an MPT fall, a GGUF file says, and what bounds its queries is refused", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "mpt", "f32"));
  const auto read = [&](std::initializer_list<std::pair<const char*, float>> numbers) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "mpt");
    for (const auto& [key, value] :
         {std::pair{"context_length", 24}, {"embedding_length", 18}, {"block_count", 2}, {"attention.head_count", 3}})
      pairs.add_integer(std::string("mpt.") + key, static_cast<uint32_t>(value));
    pairs.add_number("mpt.attention.layer_norm_epsilon", 1e-5f);
    for (const auto& [key, value] : numbers) pairs.add_number(std::string("mpt.attention.") + key, value);
    return *make_model(JsonObject::make(config_with(folder, pairs, whole), "m.gguf")).config;
  };
  CHECK(read({{"max_alibi_bias", 16.0f}, {"clamp_kqv", 0.0f}}).at("attn_config").at("alibi_bias_max") == 16);
  CHECK_THAT(error_of([&] { read({{"max_alibi_bias", 8.0f}, {"clamp_kqv", 6.0f}}); }), ContainsSubstring("clip_qkv"));
  CHECK_THAT(error_of([&] { read({{"max_alibi_bias", 0.0f}}); }), ContainsSubstring("alibi false"));
  json config = *load_model(fixtures / "mpt").config;
  config["attn_config"]["softmax_scale"] = 0.5;
  GgufPairs pairs;
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("mpt"), config); }),
             ContainsSubstring("can't say \"softmax_scale\""));
}

TEST_CASE("heads of a StarCoder share one of keys in GGUF files", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "gpt_bigcode", "f32"));
  for (const uint32_t heads : {0u, 3u}) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "starcoder");
    for (const auto& [key, value] : {std::pair{"context_length", 24},
                                     {"embedding_length", 18},
                                     {"block_count", 2},
                                     {"feed_forward_length", 19},
                                     {"attention.head_count", 3}})
      pairs.add_integer(std::string("starcoder.") + key, static_cast<uint32_t>(value));
    pairs.add_number("starcoder.attention.layer_norm_epsilon", 1e-5f);
    if (heads > 0) pairs.add_integer("starcoder.attention.head_count_kv", heads);
    CHECK_THAT(error_of([&] { config_with(folder, pairs, whole); }),
               ContainsSubstring("starcoder.attention.head_count_kv must be 1"));
  }
}

TEST_CASE("norms before the gates of a Falcon-H1 are refused in GGUF files", "[gguf]") {
  json config = *load_model(fixtures / "falcon_h1_normed").config;
  config.update({{"attention_bias", false}, {"mlp_bias", false}, {"mamba_proj_bias", false}});
  GgufPairs pairs;
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("falcon-h1"), config); }),
             ContainsSubstring("can't say \"mamba_norm_before_gate\" true"));
}

TEST_CASE("what a GGUF file of latent attention says of heads, and of the weights of experts", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "deepseek_v3", "f32"));
  const json config = *load_model(fixtures / "deepseek_v3").config;
  const auto read = [&](uint32_t weights, bool old, uint32_t experts = 5, bool grows = false) {
    GgufPairs pairs;
    const auto add = [&](const char* key, const char* theirs) {
      pairs.add_integer(std::string("deepseek2.") + key, config.at(theirs).get<uint32_t>());
    };
    pairs.add_text("general.architecture", "deepseek2");
    if (!old) {
      json said = config;
      said["scoring_func"] = weights == 2 ? "sigmoid" : "softmax";
      add_config(pairs, *find_architecture("deepseek2"), said);
      return config_with(folder, pairs, whole);
    }
    // Of heads themselves, and nothing of the weights.
    for (const auto& [key, theirs] : {std::pair{"context_length", "max_position_embeddings"},
                                      {"embedding_length", "hidden_size"},
                                      {"block_count", "num_hidden_layers"},
                                      {"feed_forward_length", "intermediate_size"},
                                      {"attention.head_count", "num_attention_heads"},
                                      {"attention.kv_lora_rank", "kv_lora_rank"},
                                      {"attention.value_length", "v_head_dim"},
                                      {"rope.dimension_count", "qk_rope_head_dim"},
                                      {"expert_used_count", "num_experts_per_tok"},
                                      {"expert_feed_forward_length", "moe_intermediate_size"},
                                      {"leading_dense_block_count", "first_k_dense_replace"},
                                      {"expert_shared_count", "n_shared_experts"}})
      add(key, theirs);
    pairs.add_integer("deepseek2.attention.key_length", 10);  // 6 and 4
    pairs.add_number("deepseek2.attention.layer_norm_rms_epsilon", 1e-6f);
    if (experts > 0) pairs.add_integer("deepseek2.expert_count", experts);
    if (grows) pairs.add_number("deepseek2.attention.temperature_scale", 0.1f);
    return config_with(folder, pairs, whole);
  };
  for (const bool old : {false, true}) {
    const json found = read(2, old);
    for (const char* key :
         {"num_key_value_heads", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank"})
      CHECK(found.at(key) == config.at(key));
    CHECK(found.at("model_type") == "deepseek_v3");
    CHECK(found.at("q_lora_rank").is_null() == old);
  }
  CHECK_THAT(error_of([&] { read(1, false); }),
             ContainsSubstring("expert_gating_func is 1; 1 (softmax) without a bias"));
  json other = config;
  other["rope_scaling"]["attention_factor"] = 1.1;
  GgufPairs pairs;
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("deepseek2"), other); }),
             ContainsSubstring("can't say yarn's attention_factor 1.1"));
  other = config;
  other["rope_scaling"].erase("mscale_all_dim");  // by which scores grow
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("deepseek2"), other); }),
             ContainsSubstring("only 1 with \"mscale_all_dim\""));
  other = config;
  other["mlp_layer_types"] = {"sparse", "dense"};
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("deepseek2"), other); }),
             ContainsSubstring("can't say which layers have no experts"));
}

TEST_CASE("angles that a GGUF file of OLMo 3 can't say are refused", "[gguf]") {
  json config = *load_model(fixtures / "olmo3").config;
  config["rope_parameters"]["sliding_attention"]["rope_theta"] = 500;
  GgufPairs pairs;
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("olmo2"), config); }),
             ContainsSubstring("layers with a window turn by angles of their own"));
}

TEST_CASE("GGUF files of Ministral 3 say whether scores grow with yarn's factor", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "ministral3", "f32"));
  const auto factor_behind = [&](double factor) {
    json config = *load_model(fixtures / "ministral3").config;
    config["rope_scaling"]["attention_factor"] = factor;
    GgufPairs pairs;
    pairs.add_text("general.architecture", "mistral3");
    add_config(pairs, *find_architecture("mistral3"), config);
    const Model model = make_model(JsonObject::make(config_with(folder, pairs, whole), "config.json"));
    return model.config->at("rope_parameters").at("attention_factor").get<double>();
  };
  const double grown = 1 + 0.1 * std::log(4.0);
  CHECK(factor_behind(1) == 1);
  CHECK(std::abs(factor_behind(grown) - grown) < 1e-6);
  CHECK_THAT(error_of([&] { factor_behind(1.5); }), ContainsSubstring("can't say yarn's attention_factor 1.5"));
}

TEST_CASE("a config whose rope_scaling is null goes into a GGUF file", "[gguf]") {
  json config = *load_model(fixtures / "cohere").config;
  config["rope_scaling"] = nullptr;
  GgufPairs pairs;
  add_config(pairs, *find_architecture("command-r"), config);
  CHECK(rotary_tensors(config).empty());
  config = *load_model(fixtures / "cohere2").config;
  config["layer_types"][3] = "sliding_attention";
  CHECK_THAT(error_of([&] { add_config(pairs, *find_architecture("cohere2"), config); }),
             ContainsSubstring("can't say which layers have a window"));
}

TEST_CASE("a Gemma 3 without windows in its file has none", "[gguf]") {
  const TemporaryFolder folder;
  const auto source = folder / "model", file = folder / "m.gguf";
  std::filesystem::copy(fixtures / "gemma3", source);
  const Model model = load_model(source);
  write_model_as_gguf(file, model, Weights(model.parameters, source), source, Mixture("f32"));
  const auto windows = [&] {
    const json types = gguf_config(GgufShards(file))["layer_types"];
    return std::ranges::count(types, json("sliding_attention"));
  };
  CHECK(windows() > 0);
  std::string bytes = get(file);
  const std::string key = "gemma3.attention.sliding_window";
  for (size_t at = bytes.find(key); at != bytes.npos; at = bytes.find(key, at + 1)) bytes[at] = 'x';  // another's
  put(file, bytes);
  CHECK(windows() == 0);
}
