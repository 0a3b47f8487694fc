// GPT-NeoX as a whole: configs old and new, dropout.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/gpt_neox/gpt_neox.h"
#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "tests/config_messages.h"

using namespace vkformer;

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

TEST_CASE("training GPT-NeoX with dropout on the device follows the reference", "[gpt_neox][device][one_driver]") {
  const Model model = make_model(config_of({{"hidden_dropout", 0.2}, {"attention_dropout", 0.1}}));
  const auto expected = training_losses(*make_reference_backend(), model),
             got = training_losses(*make_backend(""), model);
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-4 * expected[i]);
  CHECK(training_losses(*make_backend(""), make_model(config_of({{"attention_dropout", 0.1}}))) != got);
}

TEST_CASE("the keys of older GPT-NeoX configs mean the same", "[gpt_neox]") {
  const Model older = make_model(config_of(nlohmann::json::object()));
  const Model newer =
      make_gpt_neox(config_of({{"rotary_pct", nullptr},
                               {"rotary_emb_base", nullptr},
                               {"rope_parameters", {{"rope_theta", 20000}, {"partial_rotary_factor", 0.5}}}}));
  CHECK(older.constants.at(0).type.shape == Shape{19, 6});
  CHECK(*make_gpt_neox(config_of(nlohmann::json::object())).config == *newer.config);
  CHECK(*make_gpt_neox(JsonObject::parse(older.config->dump(), "config.json")).config == *newer.config);
}

TEST_CASE("wrong GPT-NeoX configs name the file and the key", "[gpt_neox]") {
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
