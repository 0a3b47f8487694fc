// Mixtures of experts: which layers have them, configs old and new.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/families/qwen3_moe/qwen3_moe.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using vkformer::testing::model_of;

namespace {

const std::filesystem::path with_experts = std::filesystem::path(VKFORMER_FIXTURES) / "qwen3_moe";

nlohmann::json with_keys(const nlohmann::json& changes) {
  nlohmann::json config = JsonObject::load(with_experts / "config.json").value();
  config["num_hidden_layers"] = 6;
  if (changes.is_object()) config.update(changes);  // {} is null
  return config;
}

/// '1' for each layer of the model that has experts.
std::string layers_with_experts(const nlohmann::json& config) {
  std::string layers(6, '0');
  for (const ParameterSpec& parameter : model_of(config).parameters)
    for (size_t i = 0; i < layers.size(); ++i)
      if (parameter.name == fmt::format("model.layers.{}.mlp.experts.3.down_proj.weight", i)) layers[i] = '1';
  return layers;
}

}  // namespace

TEST_CASE("the keys of older configs with experts mean the same", "[mixture]") {
  const Model current = make_model(JsonObject::load(with_experts / "config.json"));
  const Model legacy = make_model(JsonObject::load(with_experts / "config_legacy.json"));
  const auto meaning = [](const Model& model) {
    return *make_qwen3_moe(JsonObject::parse(model.config->dump(), "config.json")).config;
  };
  CHECK(meaning(current) == meaning(legacy));
  nlohmann::json older = with_keys({});
  older.erase("num_local_experts");
  older["num_experts"] = 4;
  CHECK(meaning(model_of(older)) == meaning(model_of(with_keys({}))));
}

TEST_CASE("a config says which layers have experts, and so does the one that is written", "[mixture]") {
  for (const auto& [changes, layers] : std::vector<std::pair<nlohmann::json, std::string>>{
           {{}, "111111"},
           {{{"mlp_only_layers", nullptr}}, "111111"},
           {{{"decoder_sparse_step", 2}}, "010101"},
           {{{"decoder_sparse_step", 2}, {"mlp_only_layers", {0, 3}}}, "010001"},
           {{{"num_local_experts", 0}}, "000000"}}) {
    const nlohmann::json config = with_keys(changes);
    CHECK(layers_with_experts(config) == layers);
    CHECK(layers_with_experts(*model_of(config).config) == layers);
    CHECK(model_of(config).parameters.size() > 6);
  }
}

TEST_CASE("the experts of a layer are one tensor each of their gates and ups, and of their downs", "[mixture]") {
  std::vector<std::string> gates, downs;
  for (const ParameterSpec& parameter : model_of(with_keys({})).parameters) {
    if (parameter.joint == "model.layers.2.mlp.experts.gate_up_proj") gates.push_back(parameter.name);
    if (parameter.joint == "model.layers.2.mlp.experts.down_proj") downs.push_back(parameter.name);
  }
  const std::string expert = "model.layers.2.mlp.experts.";
  REQUIRE(gates.size() == 8);
  REQUIRE(downs.size() == 4);
  for (size_t i = 0; i < 4; ++i) {
    CHECK(gates[2 * i] == fmt::format("{}{}.gate_proj.weight", expert, i));
    CHECK(gates[2 * i + 1] == fmt::format("{}{}.up_proj.weight", expert, i));
    CHECK(downs[i] == fmt::format("{}{}.down_proj.weight", expert, i));
  }
}

TEST_CASE("configs with experts that can't be are refused", "[mixture]") {
  check_refused(with_keys({{"num_experts_per_tok", 5}}), "num_experts_per_tok");
  check_refused(with_keys({{"num_experts_per_tok", 0}}), "num_experts_per_tok");
  check_refused(with_keys({{"num_local_experts", 1025}}), "num_local_experts");
  check_refused(with_keys({{"decoder_sparse_step", 0}}), "decoder_sparse_step");
  check_refused(with_keys({{"mlp_only_layers", "none"}}), "mlp_only_layers");
  check_refused(with_keys({{"output_router_logits", true}}), "output_router_logits");
  check_refused(with_keys({{"architectures", {"Qwen3MoeModel"}}}), "architectures");
  nlohmann::json mixtral = JsonObject::load(testing::fixtures / "mixtral/config.json").value();
  mixtral["num_local_experts"] = 0;
  check_refused(mixtral, "num_local_experts");
  mixtral.update({{"num_local_experts", 5}, {"router_jitter_noise", 0.1}});
  check_refused(mixtral, "router_jitter_noise");
}
