// ModernBERT: its configs, dropouts and poolings. What it computes is proved by recorded cases.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/families/modern_bert/modern_bert.h"
#include "models/training/trainer.h"
#include "tests/file_helpers.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Head = EncoderHead;

constexpr double ModernBertConfig::*dropouts[] = {&ModernBertConfig::embedding_dropout,
                                                  &ModernBertConfig::attention_dropout,
                                                  &ModernBertConfig::inner_dropout, &ModernBertConfig::head_dropout};

ModernBertConfig odd_config(Head head) {
  ModernBertConfig config{.head = head,
                          .vocabulary = 29,
                          .context = 13,
                          .width = 18,
                          .layers = 2,
                          .heads = 3,
                          .inner = 19,
                          .reach = 2,
                          .windowed = {false, true}};
  if (head == Head::sequence || head == Head::tokens) config.classes.names = {"cat", "dog", "owl"};
  return config;
}

std::vector<double> losses_of(Backend& backend, const Model& model) {
  constexpr int64_t B = 2, T = 11;
  Trainer trainer(backend, model, {.iterations = 3, .warmup = 0}, {.rows = B, .positions = T, .mask = true});
  initialize(trainer.store(), model.parameters, 5);
  std::vector<int32_t> ids, mask(B * T, 1);
  for (int32_t i = 0; i < B * T; ++i) ids.push_back(i * 5 % 29);
  mask[2 * T - 1] = mask[2 * T - 2] = 0;
  const std::vector<int32_t> targets{0, 2};
  std::vector<double> losses;
  for (int64_t i = 1; i <= 3; ++i)
    losses.push_back(trainer.step(i, {{"ids", ids}, {"targets", targets}, {"mask", mask}}));
  return losses;
}

nlohmann::json changed(const nlohmann::json& changes = nlohmann::json::object()) {
  nlohmann::json config = {{"model_type", "modernbert"}, {"architectures", {"ModernBertForMaskedLM"}},
                           {"hidden_size", 18},          {"num_attention_heads", 3},
                           {"num_hidden_layers", 4},     {"max_position_embeddings", 20}};
  config.update(changes);
  return config;
}

}  // namespace

TEST_CASE("each dropout of ModernBERT changes the loss", "[modernbert]") {
  auto backend = make_reference_backend();
  const ModernBertConfig config = odd_config(Head::sequence);
  const auto plain = losses_of(*backend, make_modern_bert(config));
  for (double ModernBertConfig::*probability : dropouts) {
    ModernBertConfig with = config;
    with.*probability = 0.3;
    CHECK(losses_of(*backend, make_modern_bert(with)) != plain);
  }
}

TEST_CASE("the ModernBERT config that is written describes the model that was read", "[modernbert]") {
  const Head head = GENERATE(Head::masked, Head::sequence, Head::tokens, Head::answer, Head::none);
  ModernBertConfig config = odd_config(head);
  config.tied = head != Head::masked;
  config.norm_bias = config.head_bias = true;
  config.pooling = ModernBertConfig::Pooling::mean;
  const Model model = make_modern_bert(config), again = model_of(*model.config);
  CHECK(*again.config == *model.config);
  CHECK(again.parameter_count() == model.parameter_count());
  CHECK(again.task == model.task);
}

TEST_CASE("older files of ModernBERT say the same in other keys", "[modernbert]") {
  const nlohmann::json types = {"full_attention", "sliding_attention", "full_attention", "sliding_attention"};
  const nlohmann::json angles = {{"full_attention", {{"rope_type", "default"}, {"rope_theta", 5000.0}}},
                                 {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 100.0}}}};
  const Model now = model_of(changed({{"layer_types", types}, {"rope_parameters", angles}}));
  const Model older =
      model_of(changed({{"global_attn_every_n_layers", 2}, {"global_rope_theta", 5000}, {"local_rope_theta", 100}}));
  for (const char* key : {"layer_types", "rope_parameters"}) CHECK(older.config->at(key) == now.config->at(key));
  const Model one = model_of(changed({{"global_rope_theta", 5000}, {"local_rope_theta", nullptr}}));
  CHECK(one.config->at("local_rope_theta") == 5000);
  CHECK(model_of(changed()).config->at("rope_parameters").at("full_attention").at("rope_theta") == 160000);
  CHECK(model_of(changed()).config->at("local_rope_theta") == 10000);
}

TEST_CASE("wrong ModernBERT configs name the file and the key", "[modernbert]") {
  CHECK(message_of(changed()) == "accepted");
  check_refused(changed({{"hidden_size", 15}}), "even width");
  check_refused(changed({{"layer_types", {"full_attention"}}}), "each of the 4 layers");
  check_refused(changed({{"classifier_pooling", "max"}}), "classifier_pooling 'max'");
  check_refused(changed({{"hidden_activation", "tanh"}}), "hidden_activation 'tanh'");
  check_refused(changed({{"local_attention", -2}}), "local_attention");
  check_refused(changed({{"mlp_dropout", 1.5}}), "mlp_dropout");
  check_refused(changed({{"architectures", {"ModernBertForMultipleChoice"}}}), "ModernBertForMultipleChoice");
}
