// The original Transformer, Marian, BART and its kin as a whole: dropout, positions, configs.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/encoder_decoder/encoder_decoder.h"
#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "runtime/check.h"
#include "tests/config_messages.h"

using namespace vkformer;

namespace {

nlohmann::json config_of(const std::string& family, const nlohmann::json& changes) {
  nlohmann::json config = {{"model_type", family}, {"vocab_size", 29},    {"d_model", 21},
                           {"encoder_layers", 1},  {"decoder_layers", 2}, {"max_position_embeddings", 23},
                           {"dropout", 0.2}};
  if (family == "vaswani")
    config.update({{"num_heads", 3}, {"d_ff", 26}, {"label_smoothing", 0.1}});
  else
    config.update({{"encoder_attention_heads", 3},
                   {"decoder_attention_heads", 7},
                   {"encoder_ffn_dim", 26},
                   {"decoder_ffn_dim", 17},
                   {"attention_dropout", 0.1},
                   {"activation_dropout", 0.1}});
  config.update(changes);
  return config;
}

Model changed_model(const std::string& family, const nlohmann::json& changes = nlohmann::json::object()) {
  return make_model(JsonObject::parse(config_of(family, changes).dump(), "config.json"));
}

std::vector<int32_t> stepped_ids(int64_t count, int64_t step) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>((i * step + i / 5) % 29));
  return ids;
}

std::vector<double> losses(Backend& backend, const Model& model) {
  const BatchShape shape{.rows = 2, .positions = 9, .source_positions = 13, .mask = true};
  Trainer trainer(backend, model, {.iterations = 3, .warmup = 0}, shape);
  initialize(trainer.store(), model.parameters, 5);
  std::vector<int32_t> mask(26, 1);
  std::fill(mask.end() - 4, mask.end(), 0);
  std::vector<double> result;
  for (int64_t i = 1; i <= 3; ++i)
    result.push_back(trainer.step(i, {{"ids", stepped_ids(18, 4 + i)},
                                      {"source", stepped_ids(26, 6 + i)},
                                      {"source_mask", mask},
                                      {"targets", stepped_ids(18, 5 + i)}}));
  return result;
}

}  // namespace

TEST_CASE("training an encoder-decoder with dropout on the device follows the reference",
          "[encoder_decoder][device][one_driver]") {
  auto device = make_backend(""), reference = make_reference_backend();
  for (const std::string family : {"vaswani", "marian", "bart"}) {
    INFO(family);
    const Model model = changed_model(family, {{"pre_norm", true}});  // a key of "vaswani" alone
    const auto expected = losses(*reference, model), got = losses(*device, model);
    for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-4 * expected[i]);
    CHECK(losses(*reference, changed_model(family, {{"dropout", 0}, {"pre_norm", true}})) != expected);
  }
}

TEST_CASE("sinusoidal positions are those of the paper, and Marian's", "[encoder_decoder]") {
  using Positions = EncoderDecoderConfig::Positions;
  const auto paper = sinusoids(Positions::sinusoidal, 4, 5), halves = sinusoids(Positions::halves, 4, 5);
  const auto angle = [](int64_t p, int64_t i) {
    return static_cast<double>(p) * std::pow(10000.0, -2.0 * static_cast<double>(i) / 5);
  };
  for (int64_t p = 0; p < 4; ++p) {
    const auto row = static_cast<size_t>(p * 5);
    CHECK(paper[row + 2] == static_cast<float>(std::sin(angle(p, 1))));
    CHECK(paper[row + 3] == static_cast<float>(std::cos(angle(p, 1))));
    CHECK(paper[row + 4] == static_cast<float>(std::sin(angle(p, 2))));
    CHECK(halves[row + 1] == static_cast<float>(std::sin(angle(p, 1))));
    CHECK(halves[row + 2] == static_cast<float>(std::sin(angle(p, 2))));
    CHECK(halves[row + 4] == static_cast<float>(std::cos(angle(p, 1))));
  }
}

TEST_CASE("M2M-100's positions are half a table of sines and half one of cosines, from 2 on", "[encoder_decoder]") {
  const auto table = sinusoids(EncoderDecoderConfig::Positions::fairseq, 3, 7, 2);
  for (int64_t p = 0; p < 3; ++p)
    for (int64_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(p + 2) * std::pow(10000.0, -static_cast<double>(i) / 2);
      CHECK(table[static_cast<size_t>(p * 7 + i)] == static_cast<float>(std::sin(angle)));
      CHECK(table[static_cast<size_t>(p * 7 + 3 + i)] == static_cast<float>(std::cos(angle)));
      CHECK(table[static_cast<size_t>(p * 7 + 6)] == 0);
    }
}

TEST_CASE("wrong encoder-decoder configs name the file and the key", "[encoder_decoder]") {
  const auto says = [](const std::string& family, const nlohmann::json& changes, const std::string& word) {
    check_refused(config_of(family, changes), word);
  };
  for (const std::string family : {"vaswani", "marian", "bart", "mbart", "m2m_100", "pegasus", "whisper"}) {
    CHECK(message_of(config_of(family, nlohmann::json::object())) == "accepted");
    says(family, {{"vocab_size", 0}}, "vocab_size");
    CHECK(message_of(config_of(family, {{"vocab_size", nullptr}})) == "accepted");
    says(family, {{"d_model", 22}}, family == "vaswani" ? "num_heads" : "encoder_attention_heads");
    says(family, {{"d_model", -21}}, "d_model");
    says(family, {{"d_model", 1e18}}, "d_model");
    says(family, {{"decoder_layers", 0}}, "decoder_layers");
    says(family, {{"dropout", 1.5}}, "dropout");
    says(family, {{family == "vaswani" ? "activation" : "activation_function", "mish"}}, "mish");
  }
  says("vaswani", {{"positions", "learned"}}, "learned");
  says("marian", {{"decoder_vocab_size", 31}}, "share_encoder_decoder_embeddings");
  says("m2m_100", {{"d_model", 3}, {"decoder_attention_heads", 3}}, "too narrow");
  says("whisper", {{"d_model", 3}, {"decoder_attention_heads", 3}}, "too narrow");
  says("whisper", {{"tie_word_embeddings", false}}, "tie_word_embeddings");
  says("whisper", {{"num_mel_bins", 0}}, "num_mel_bins");
  says("whisper", {{"max_source_positions", 0}}, "max_source_positions");
  says("bart", {{"share_encoder_decoder_embeddings", false}}, "share one embedding");
  says("bart", {{"architectures", {"BartForQuestionAnswering"}}}, "BartForQuestionAnswering");
  says("pegasus", {{"architectures", {"PegasusForSequenceClassification"}}}, "PegasusForSequenceClassification");
}

TEST_CASE("the encoder-decoder config that is written describes the model that was read", "[encoder_decoder]") {
  for (const std::string family : {"vaswani", "marian", "bart", "mbart", "m2m_100", "pegasus", "whisper"}) {
    const Model model = changed_model(
        family, {{"tie_word_embeddings", family != "bart"}, {"pad_token_id", 3}, {"max_source_positions", 7}});
    const Model again = make_model(JsonObject::parse(model.config->dump(), "config.json"));
    CHECK(*again.config == *model.config);
    CHECK(again.parameter_count() == model.parameter_count());
    CHECK(model.config->at("pad_token_id") == 3);
  }
}

TEST_CASE("an encoder may have a vocabulary of its own", "[encoder_decoder]") {
  const nlohmann::json still = {{"dropout", 0}, {"attention_dropout", 0}, {"activation_dropout", 0}};
  const BatchShape shape{.rows = 2, .positions = 9, .source_positions = 13};
  const TrainSettings settings{.iterations = 1, .warmup = 0};
  for (const std::string family : {"vaswani", "marian"}) {
    nlohmann::json changes = still;
    changes.update({{"share_encoder_decoder_embeddings", false}, {"vocab_size", 31}, {"decoder_vocab_size", 29}});
    const Model shared = changed_model(family, still), apart = changed_model(family, changes);
    const Model again = make_model(JsonObject::parse(apart.config->dump(), "config.json"));
    CHECK(*again.config == *apart.config);
    CHECK(apart.parameter_count() == shared.parameter_count() + 31 * 21);

    const auto backend = make_reference_backend();
    Trainer one(*backend, shared, settings, shape), two(*backend, apart, settings, shape);
    initialize(one.store(), shared.parameters, 5);
    const std::string table = shared.parameters.front().name, source_table = apart.parameters[0].name,
                      target_table = apart.parameters[1].name;
    std::vector<float> embedding = one.store().read(table);
    two.store().write(target_table, embedding);
    embedding.resize(31 * 21);
    two.store().write(source_table, embedding);
    for (const ParameterSpec& parameter : shared.parameters)
      if (parameter.name != table) two.store().write(parameter.name, one.store().read(parameter.name));

    const auto step = [&](Trainer& trainer) {
      return trainer.step(
          1, {{"ids", stepped_ids(18, 4)}, {"source", stepped_ids(26, 6)}, {"targets", stepped_ids(18, 5)}});
    };
    CHECK(step(one) == step(two));
    embedding.resize(29 * 21);
    CHECK(two.store().read(target_table) != embedding);
    const std::vector<int32_t> last{30};
    CHECK_NOTHROW(check_feed(apart, shape, {{"source", last}}));
    CHECK_THROWS_AS(check_feed(shared, shape, {{"source", last}}), Error);
    CHECK_THROWS_AS(check_feed(apart, shape, {{"ids", last}}), Error);
  }
}
