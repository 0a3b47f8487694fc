// LLaMA as a whole: rotary scaling, configs old and new, decoding.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/families/decoder/decoder.h"
#include "models/families/llama/llama.h"
#include "models/families/registry.h"
#include "models/generation/generation.h"
#include "models/parameters.h"
#include "runtime/check.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;

namespace {

const std::filesystem::path fixture = std::filesystem::path(VKFORMER_FIXTURES) / "llama";

nlohmann::json llama_config(const nlohmann::json& changes) {
  nlohmann::json config = {{"model_type", "llama"},    {"hidden_size", 24},      {"num_attention_heads", 4},
                           {"num_key_value_heads", 2}, {"num_hidden_layers", 1}, {"intermediate_size", 40}};
  config.update(changes);
  return config;
}

}  // namespace

TEST_CASE("the keys of older LLaMA configs mean the same", "[llama]") {
  const Model current = make_model(JsonObject::load(fixture / "config.json"));
  const Model legacy = make_model(JsonObject::load(fixture / "config_legacy.json"));
  const auto meaning = [](const Model& model) {
    return *make_llama(JsonObject::parse(model.config->dump(), "config.json")).config;
  };
  CHECK(meaning(current) == meaning(legacy));
  const Model again = make_model(JsonObject::parse(current.config->dump(), "config.json"));
  CHECK(*again.config == *current.config);
}

TEST_CASE("rotary frequencies are scaled as Llama 3.1 scales them", "[llama]") {
  const RotaryConfig plain{.theta = 500000};
  CHECK(plain.frequency(0, 128) == 1);
  CHECK(std::abs(plain.frequency(32, 128) - 1 / std::sqrt(500000.0)) < 1e-12);
  RotaryConfig linear = plain;
  linear.scaling = RotaryConfig::Scaling::linear;
  linear.factor = 4;
  CHECK(linear.frequency(5, 128) == plain.frequency(5, 128) / 4);
  const RotaryConfig llama3{.theta = 500000,
                            .scaling = RotaryConfig::Scaling::llama3,
                            .factor = 8,
                            .low_frequency_factor = 1,
                            .high_frequency_factor = 4,
                            .original_context = 8192};
  CHECK(llama3.frequency(0, 128) == plain.frequency(0, 128));                   // wavelength 6.3: kept
  CHECK(llama3.frequency(63, 128) == plain.frequency(63, 128) / 8);             // wavelength 2.6 million: stretched
  const double between = llama3.frequency(32, 128) / plain.frequency(32, 128);  // wavelength 4443: in between
  CHECK(std::abs(between - ((1 - (8192 / 4442.88 - 1) / 3) / 8 + (8192 / 4442.88 - 1) / 3)) < 1e-4);
  const auto table = plain.table(3, 4);
  REQUIRE(table.size() == 12);
  CHECK(table[4] == static_cast<float>(std::cos(1.0)));
  CHECK(table[6] == static_cast<float>(std::sin(1.0)));
}

TEST_CASE("LLaMA decodes token by token what it computes at once", "[llama][device]") {
  const Model model = make_decoder({.vocabulary = 31,
                                    .context = 23,
                                    .width = 32,  // whole vectors: norms and gates are fused where they can be
                                    .inner = 27,
                                    .heads = 6,
                                    .kv_heads = 3,
                                    .head_width = 10,
                                    .input_bias = true,
                                    .output_bias = true,
                                    .tied = true,
                                    .layers = std::vector<Decoder::Layer>(2)},
                                   {});
  auto backend = make_backend("");
  Generator generator(*backend, model);
  initialize(generator.store(), model.parameters, 5);
  std::vector<int32_t> ids;
  for (int32_t i = 0; i < 23; ++i) ids.push_back(i * 7 % 31);
  const auto whole = generator.prefill(ids);
  auto stepwise = generator.prefill(std::span(ids).first(2));
  for (size_t i = 2; i < ids.size(); ++i) stepwise = generator.decode(ids[i]);
  for (size_t v = 0; v < whole.size(); ++v) CHECK(std::abs(whole[v] - stepwise[v]) < 1e-5f);
}

TEST_CASE("the context that rotary positions were made for is an integer, as it was", "[llama]") {
  nlohmann::json scaling = {{"rope_type", "llama3"},
                            {"factor", 2},
                            {"low_freq_factor", 1},
                            {"high_freq_factor", 4},
                            {"original_max_position_embeddings", 64}};
  const auto written = [&] {
    const auto config = llama_config({{"rope_scaling", scaling}});
    return testing::model_of(config).config->dump();
  };
  const std::string once = written();
  CHECK(once.find("\"original_max_position_embeddings\":64,") != std::string::npos);
  scaling["original_max_position_embeddings"] = 64.0;  // what older versions wrote
  CHECK(written() == once);
}

TEST_CASE("wrong LLaMA configs name the file and the key", "[llama]") {
  CHECK(message_of(llama_config(nlohmann::json::object())) == "accepted");
  const auto says = [](const nlohmann::json& changes, const std::string& word) {
    check_refused(llama_config(changes), word);
  };
  says({{"num_key_value_heads", 3}}, "num_key_value_heads");
  says({{"num_attention_heads", 5}}, "num_attention_heads");
  says({{"head_dim", 7}}, "head_dim");
  says({{"hidden_act", "tanh"}}, "tanh");
  const auto dynamic = llama_config({{"rope_scaling", {{"type", "dynamic"}, {"factor", 2}}}});
  CHECK(message_of(dynamic) == "accepted");  // no text is longer than the context, from where it counts
  says({{"rope_scaling", {{"rope_type", "ntk"}, {"factor", 2}}}}, "ntk");
  says({{"rope_scaling", {{"rope_type", "linear"}}}}, "factor");
  says({{"hidden_size", -4}}, "hidden_size");
  says({{"rope_scaling",
         {{"rope_type", "llama3"},
          {"factor", 2},
          {"low_freq_factor", 1},
          {"high_freq_factor", 4},
          {"original_max_position_embeddings", 64.5}}}},
       "whole number");
}
