// Decoders with LayerNorm: what their configs say, dropout.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/gpt_neox/gpt_neox.h"
#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

JsonObject config_of(const nlohmann::json& changes) {
  nlohmann::json config = {{"model_type", "gpt_neox"}, {"hidden_size", 36},        {"num_attention_heads", 3},
                           {"num_hidden_layers", 2},   {"intermediate_size", 50},  {"vocab_size", 31},
                           {"rotary_pct", 0.5},        {"rotary_emb_base", 20000}, {"max_position_embeddings", 19}};
  config.update(changes);
  return JsonObject::parse(config.dump(), "config.json");
}

std::vector<double> training_losses(Backend& backend, const Model& model) {
  Trainer trainer(backend, model, {.iterations = 3, .warmup = 0}, {.rows = 2, .positions = 17});
  initialize(trainer.store(), model.parameters, 5);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 34; ++i) ids.push_back(i * 7 % 31);
  std::vector<double> result;
  for (int64_t i = 1; i <= 3; ++i) result.push_back(trainer.step(i, ids, ids));
  return result;
}

}  // namespace

TEST_CASE("training decoders with LayerNorm and dropout on the device follows the reference",
          "[layer_norm_decoder][device][one_driver]") {
  const nlohmann::json small = {{"hidden_size", 36},
                                {"num_hidden_layers", 2},
                                {"num_attention_heads", 3},
                                {"vocab_size", 31},
                                {"max_position_embeddings", 19}};
  const auto with = [&](nlohmann::json more) {
    nlohmann::json config = small;
    config.update(more);
    return config;
  };
  for (const auto& [dropout, config] :
       {std::pair{"hidden_dropout", config_of({{"attention_dropout", 0.1}}).value()},
        {"dropout", with({{"model_type", "opt"}, {"do_layer_norm_before", false}, {"word_embed_proj_dim", 21}})},
        {"resid_pdrop", with({{"model_type", "phi"}, {"embd_pdrop", 0.1}})},
        {"residual_dropout", with({{"model_type", "starcoder2"}, {"num_key_value_heads", 1}})}}) {
    INFO(config.at("model_type"));
    nlohmann::json dropped = config, plain = config;
    dropped[dropout] = 0.2;
    plain[dropout] = 0;
    const Model model = model_of(dropped);
    const auto expected = training_losses(*make_reference_backend(), model),
               got = training_losses(*make_backend(""), model);
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-4 * expected[i]);
    CHECK(training_losses(*make_backend(""), model_of(plain)) != got);
  }
}

TEST_CASE("the keys of older GPT-NeoX configs mean the same", "[layer_norm_decoder]") {
  const Model older = make_model(config_of(nlohmann::json::object()));
  const Model newer =
      make_gpt_neox(config_of({{"rotary_pct", nullptr},
                               {"rotary_emb_base", nullptr},
                               {"rope_parameters", {{"rope_theta", 20000}, {"partial_rotary_factor", 0.5}}}}));
  CHECK(older.constants.at(0).type.shape == Shape{19, 6});
  CHECK(*make_gpt_neox(config_of(nlohmann::json::object())).config == *newer.config);
  CHECK(*make_gpt_neox(JsonObject::parse(older.config->dump(), "config.json")).config == *newer.config);
}

TEST_CASE("wrong GPT-NeoX configs name the file and the key", "[layer_norm_decoder]") {
  const auto says = [](const nlohmann::json& changes, const std::string& word) {
    check_refused(config_of(changes).value(), word);
  };
  says({{"num_attention_heads", 5}}, "num_attention_heads");
  says({{"hidden_size", -36}}, "hidden_size");
  says({{"rotary_pct", 0.25}}, "rotary_pct");  // three columns: not pairs
  says({{"rotary_pct", 2}}, "rotary_pct");
  says({{"hidden_act", "mish"}}, "mish");
  says({{"num_hidden_layers", 0}}, "num_hidden_layers");
}

TEST_CASE("what a decoder with LayerNorm does not do is refused by its key", "[layer_norm_decoder]") {
  const auto says = [](const std::string& fixture, const nlohmann::json& changes, const std::string& word) {
    check_refused(fixture_config(fixture, changes), word);
  };
  for (const char* fixture : {"opt", "phi", "starcoder2", "gptj"}) says(fixture, {{"head_dim", 10}}, "head_dim 10");
  says("opt", {{"layer_norm_elementwise_affine", false}}, "layer_norm_elementwise_affine");
  says("phi", {{"qk_layernorm", true}}, "qk_layernorm");
  says("phi", {{"num_key_value_heads", 2}}, "num_key_value_heads 2");
  says("phi", {{"rope_parameters", {{"rope_type", "longrope"}, {"short_factor", {1, 1}}, {"long_factor", {1, 1}}}}},
       "rope_type longrope is not supported for phi");
  says("starcoder2", {{"rope_parameters", {{"partial_rotary_factor", 0.7}}}}, "heads of starcoder2 turn as a whole");
  says("starcoder2", {{"sliding_window", 0}}, "sliding_window");
  says("gptj", {{"rotary_dim", nullptr}}, "rotary_dim null");
  says("gptj", {{"rotary_dim", 3}}, "rotary_dim 3");
  says("gptj", {{"rotary_dim", 8}}, "rotary_dim");
  says("codegen", {{"rotary_dim", nullptr}}, "rotary_dim null");
  says("codegen", {{"n_head", 2}}, "n_head 2 is not a multiple of 4");
  says("gpt_bigcode", {{"add_cross_attention", true}}, "add_cross_attention");
  says("xglm", {{"layerdrop", 0.1}}, "layerdrop");
  says("xglm", {{"pad_token_id", 2}}, "pad_token_id must be 0 or 1");
  says("xglm", {{"add_cross_attention", true}}, "add_cross_attention");
  says("biogpt", {{"activation_dropout", 0.1}}, "activation_dropout");
  says("bloom", {{"apply_residual_connection_post_layernorm", true}}, "apply_residual_connection_post_layernorm");
  says("bloom", {{"n_inner", 18}}, "n_inner 18");
  says("falcon", {{"alibi", true}}, "alibi");
  says("falcon", {{"num_ln_in_parallel_attn", 2}}, "num_ln_in_parallel_attn 2 needs new_decoder_architecture");
  says("falcon_new", {{"num_kv_heads", 3}}, "num_attention_heads 4 is not a multiple of num_kv_heads 3");
  says("falcon", {{"rope_parameters", {{"partial_rotary_factor", 0.4}}}}, "heads of falcon turn as a whole");
  for (const char* key : {"qk_layernorm", "use_parallel_residual"}) says("stablelm", {{key, true}}, key);
  says("stablelm", {{"hidden_dropout", 0.1}}, "hidden_dropout");
  says("olmo", {{"clip_qkv", 8}}, "clip_qkv");
  says("gpt_neo", {{"window_size", 0}}, "window_size");
  says("gpt_neo", {{"attention_layers", {"global"}}}, "attention_layers must name");
  says("gpt_neo", {{"attention_layers", {"global", "sparse"}}}, "attention_layers must name");
  const auto groups = [&](const char* types, const std::string& word) {
    const nlohmann::json parsed = nlohmann::json::parse(types);
    says("gpt_neo", {{"attention_layers", nullptr}, {"attention_types", parsed}}, word);
  };
  groups(R"([[["global", "local"], 2]])", "attention_types must name");
  groups(R"([[["global"], 1]])", "attention_types must name");
  groups(R"([["global", 2]])", "attention_types has [\"global\",2]");
  groups(R"([[["global"]]])", "attention_types has");
  groups(R"([[[], 9000000000000000000]])", "attention_types has");
  groups(R"("global")", "attention_types must name");
}

TEST_CASE("what an MPT does not do is refused by its key", "[layer_norm_decoder]") {
  const auto says = [](const nlohmann::json& changes, const std::string& word) {
    check_refused(fixture_config("mpt", changes), word);
  };
  says({{"no_bias", false}}, "no_bias false");
  says({{"expansion_ratio", 3}}, "expansion_ratio 3");
  says({{"norm_type", "rmsnorm"}}, "norm_type \"rmsnorm\"");
  says({{"logit_scale", "inv_sqrt_d_model"}}, "logit_scale");
  for (const char* key : {"qk_ln", "prefix_lm", "attn_uses_sequence_id"}) says({{"attn_config", {{key, true}}}}, key);
  says({{"attn_config", {{"alibi", false}}}}, "alibi false");
  says({{"attn_config", {{"clip_qkv", 6}}}}, "clip_qkv");
  says({{"attn_config", {{"attn_type", "multiquery_attention"}}}}, "attn_type \"multiquery_attention\"");
  says({{"attn_config", {{"attn_pdrop", 1}}}}, "attn_pdrop");
}

TEST_CASE("MosaicML's own name of an MPT means the same", "[layer_norm_decoder]") {
  const nlohmann::json own = fixture_config("mpt", {{"architectures", {"MPTForCausalLM"}}});
  CHECK(*model_of(own).config == *model_of(fixture_config("mpt", nlohmann::json::object())).config);
}

TEST_CASE("layers of GPT-Neo have a window where the config says so, or every other one", "[layer_norm_decoder]") {
  const auto kinds = [](const nlohmann::json& changes) {
    nlohmann::json all = {{"num_layers", 3}, {"attention_layers", nullptr}, {"attention_types", nullptr}};
    all.update(changes);
    return model_of(fixture_config("gpt_neo", all)).config->at("attention_layers");
  };
  CHECK(kinds(nlohmann::json::object()) == nlohmann::json{"global", "local", "global"});
  CHECK(kinds({{"attention_layers", {"local", "global", "local"}}}) == nlohmann::json{"local", "global", "local"});
  const auto parsed = nlohmann::json::parse(R"([[["local"], 2], [["global"], 1]])");
  CHECK(kinds({{"attention_types", parsed}}) == nlohmann::json{"local", "local", "global"});
  const auto written = model_of(fixture_config("gpt_neo", nlohmann::json::object())).config->at("attention_types");
  CHECK(written == nlohmann::json::parse(R"([[["global", "local"], 1]])"));
}

TEST_CASE("the keys of older BLOOM configs go before", "[layer_norm_decoder]") {
  nlohmann::json config = fixture_config("bloom", nlohmann::json::object());
  const nlohmann::json newer = *model_of(config).config;
  config.update({{"n_embed", 18}, {"num_attention_heads", 3}, {"num_hidden_layers", 2}});
  for (const char* key : {"hidden_size", "n_head", "n_layer"}) config.erase(key);
  for (const char* key : {"hidden_size", "n_head", "n_layer"}) CHECK(model_of(config).config->at(key) == newer.at(key));
}

TEST_CASE("an OPT whose last norm was removed has none", "[layer_norm_decoder]") {
  const auto tensors = [](const nlohmann::json& changes) {
    return model_of(fixture_config("opt", changes)).parameters.size();
  };
  const size_t all = tensors(nlohmann::json::object());
  CHECK(tensors({{"_remove_final_layer_norm", true}}) == all - 2);
  CHECK(tensors({{"do_layer_norm_before", false}}) == all - 2);
  CHECK(tensors({{"word_embed_proj_dim", 7}}) == all + 2);
  CHECK(tensors({{"enable_bias", false}}) == all - 2 * 6);
  CHECK(tensors({{"tie_word_embeddings", false}}) == all + 1);
}

TEST_CASE("decoders with LayerNorm tell texts apart by a head on their last states", "[layer_norm_decoder]") {
  for (const auto& [fixture, architecture, width] : {std::tuple{"gpt_neox", "GPTNeoX", 16},
                                                     {"opt", "OPT", 18},
                                                     {"opt_after", "OPT", 11},
                                                     {"gpt_neo", "GPTNeo", 18},
                                                     {"phi", "Phi", 24},
                                                     {"starcoder2", "Starcoder2", 18},
                                                     {"gptj", "GPTJ", 18},
                                                     {"falcon", "Falcon", 18},
                                                     {"gpt_bigcode", "GPTBigCode", 18},
                                                     {"mpt", "Mpt", 18},
                                                     {"biogpt", "BioGpt", 18},
                                                     {"bloom", "Bloom", 18},
                                                     {"stablelm", "StableLm", 24}}) {
    INFO(fixture);
    const std::string name = std::string(architecture) + "ForSequenceClassification";
    const Model model = model_of(fixture_config(fixture, {{"architectures", {name}}, {"num_labels", 4}}));
    CHECK(model.task == Task::classify);
    CHECK(model.parameters.back().name == "score.weight");
    CHECK(model.parameters.back().shape == Shape{4, width});
    CHECK(model.config->at("architectures") == nlohmann::json{name});
    CHECK(architecture_with_head(JsonObject::make(*model.config, "config.json"), "SequenceClassification") == name);
  }
}

TEST_CASE("a config of a decoder with LayerNorm is written as it was read", "[layer_norm_decoder]") {
  for (const char* fixture : {"gpt_neox",
                              "gpt_neox_sequential",
                              "opt",
                              "opt_after",
                              "gpt_neo",
                              "phi",
                              "starcoder2",
                              "gptj",
                              "stablelm",
                              "olmo",
                              "bloom",
                              "falcon",
                              "falcon_new",
                              "falcon_grouped",
                              "codegen",
                              "gpt_bigcode",
                              "gpt_bigcode_heads",
                              "mpt",
                              "xglm",
                              "biogpt"}) {
    INFO(fixture);
    const nlohmann::json read = fixture_config(fixture, nlohmann::json::object());
    const nlohmann::json written = *model_of(read).config;
    for (const auto& [key, value] : read.items()) {
      INFO(key);
      // Of Falcon's older form the heads of keys are not what that key says.
      const bool renamed = key == "hidden_act" || (key == "activation_function" && value == "gelu_pytorch_tanh");
      if (key != "dtype" && !renamed && key != "attention_types" && key != "num_kv_heads")
        CHECK(written.at(key) == value);
    }
    CHECK(*model_of(written).config == written);
  }
}
