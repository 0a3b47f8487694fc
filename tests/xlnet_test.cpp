// XLNet as a whole: the query stream and its gradients, configs.

#include "models/families/xlnet/xlnet.h"
#include "models/families/registry.h"
#include "models/parameters.h"
#include "tests/config_messages.h"

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"
#include "runtime/check.h"

using namespace vkformer;

namespace {

/// Odd sizes; weights large enough that every part of attention matters.
Model odd_model(double dropout) {
  return make_xlnet(
      {.vocabulary = 29, .width = 18, .layers = 2, .heads = 3, .inner = 23, .dropout = dropout, .deviation = 0.4});
}

constexpr int64_t rows = 2, positions = 7, predictions = 3;
const BatchShape two_streams{.rows = rows, .positions = positions, .segments = true, .predictions = predictions};

/// Two sequences that are predicted in the orders below: position t sees those that come before it there.
struct Permuted {
  std::vector<int32_t> ids, segments, places;
  std::vector<int32_t> predicted = {6, 2, 4, 7, 9, 10}, targets = {5, 17, 28, 0, 11, -100};

  Permuted() {
    const int order[rows][positions] = {{3, 0, 5, 1, 6, 2, 4}, {6, 5, 4, 1, 0, 2, 3}};
    for (int b = 0; b < rows; ++b) {
      places.resize(places.size() + positions);
      for (int i = 0; i < positions; ++i) places[static_cast<size_t>(b * positions + order[b][i])] = i;
      for (int t = 0; t < positions; ++t) {
        ids.push_back((11 * t + 5 * b) % 29);
        segments.push_back(t >= 4 - b);
      }
    }
  }
  Feed feed() const {
    return {{"ids", ids}, {"segments", segments}, {"order", places}, {"predicted", predicted}, {"targets", targets}};
  }
};

/// The loss of the query stream and its gradients, over weights that can be changed.
class Losses {
 public:
  Losses(Backend& backend, const Model& model) : blocks_(parameter_blocks(model.parameters, 1u << 30)) {
    StoreLayout layout;
    add_model(layout, model, blocks_);
    store_ = backend.make_store(layout);
    write_constants(*store_, model);
    initialize(*store_, model.parameters, 3);
    TrainingGraph training = build_loss_and_gradients(model, two_streams);
    for (size_t i = 0; i < model.parameters.size(); ++i) {
      REQUIRE(training.gradients[i]);
      training.graph.mark_output(training.gradients[i], "grad." + model.parameters[i].name);
    }
    program_ = backend.compile(std::move(training.graph), store_);
    write_feed(*program_, Permuted().feed());
    program_->write("seed", std::vector<int32_t>{1, 2});
    program_->write("loss_gradient", std::vector<float>{1});
    program_->run();
  }
  double loss() const { return static_cast<double>(program_->read("loss")[0]); }
  std::vector<float> gradient(const std::string& name) const { return program_->read("grad." + name); }

  /// The derivative of the loss along `direction`, by differences of fourth order.
  double slope(const std::string& name, std::span<const float> direction, double step) {
    const std::vector<float> weights = store_->read(name);
    const auto loss_at = [&](double distance) {
      std::vector<float> moved = weights;
      for (size_t i = 0; i < moved.size(); ++i) moved[i] += static_cast<float>(distance) * direction[i];
      store_->write(name, moved);
      program_->run();
      return loss();
    };
    const double near = loss_at(step) - loss_at(-step), far = loss_at(2 * step) - loss_at(-2 * step);
    store_->write(name, weights);
    program_->run();
    return (8 * near - far) / (12 * step);
  }

 private:
  std::vector<ParameterBlock> blocks_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Program> program_;
};

void compare_gradients(Backend& backend) {
  const Model model = odd_model(0.2);
  auto reference = make_reference_backend();
  const Losses want(*reference, model), got(backend, model);
  CHECK(std::abs(got.loss() - want.loss()) < 1e-5 * want.loss());
  for (const ParameterSpec& parameter : model.parameters) {
    INFO(parameter.name);
    const std::vector<float> a = want.gradient(parameter.name), b = got.gradient(parameter.name);
    float largest = 0, worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      largest = std::max(largest, std::abs(a[i]));
      worst = std::max(worst, std::abs(a[i] - b[i]));
    }
    CHECK(largest > 0);
    CHECK(worst < 1e-4f * largest);
  }
}

nlohmann::json xlnet_config(const nlohmann::json& changes) {
  nlohmann::json config = {{"model_type", "xlnet"}, {"vocab_size", 31}, {"d_model", 12},
                           {"n_head", 3},           {"n_layer", 1},     {"d_inner", 20}};
  config.update(changes);
  return config;
}

}  // namespace

TEST_CASE("gradients of the query stream's loss are its derivatives", "[xlnet]") {
  const Model model = odd_model(0.1);
  auto backend = make_reference_backend();
  Losses losses(*backend, model);
  for (const char* name :
       {"transformer.mask_emb", "transformer.word_embedding.weight", "lm_loss.bias", "transformer.layer.0.rel_attn.q",
        "transformer.layer.0.rel_attn.k", "transformer.layer.0.rel_attn.v", "transformer.layer.0.rel_attn.o",
        "transformer.layer.0.rel_attn.r", "transformer.layer.0.rel_attn.r_w_bias",
        "transformer.layer.0.rel_attn.r_r_bias", "transformer.layer.0.rel_attn.r_s_bias",
        "transformer.layer.0.rel_attn.seg_embed", "transformer.layer.1.rel_attn.q",
        "transformer.layer.1.rel_attn.seg_embed", "transformer.layer.1.ff.layer_1.weight"}) {
    INFO(name);
    // Along the gradient itself the derivative is its length.
    std::vector<float> direction = losses.gradient(name);
    double length = 0;
    for (float g : direction) length += static_cast<double>(g) * static_cast<double>(g);
    length = std::sqrt(length);
    REQUIRE(length > 0);
    for (float& g : direction) g /= static_cast<float>(length);
    CHECK(std::abs(losses.slope(name, direction, 0.02) - length) < 3e-4 * length);
  }
}

TEST_CASE("gradients of the query stream on the device are the reference's, with dropout",
          "[xlnet][device][one_driver]") {
  compare_gradients(*make_backend(""));
  compare_gradients(*make_backend("", {.as_gpu = true}));
}

TEST_CASE("training the query stream on the device follows the reference", "[xlnet][device][one_driver]") {
  const Model model = odd_model(0.1);
  const TrainSettings settings{.iterations = 3, .warmup = 0};
  const Permuted batch;
  const auto train = [&](Backend& backend) {
    Trainer trainer(backend, model, settings, two_streams);
    initialize(trainer.store(), model.parameters, 3);
    const auto before = trainer.store().read("transformer.mask_emb");
    std::vector<double> losses;
    for (int64_t i = 1; i <= settings.iterations; ++i) losses.push_back(trainer.step(i, batch.feed()));
    losses.push_back(trainer.evaluate(batch.feed()));
    CHECK(trainer.store().read("transformer.mask_emb") != before);
    return losses;
  };
  const auto want = train(*make_reference_backend()), got = train(*make_backend(""));
  for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) < 1e-4 * want[i]);
  CHECK(want.back() < want.front());
}

TEST_CASE("a prediction does not see the token it predicts", "[xlnet]") {
  const Model model = odd_model(0);
  auto backend = make_reference_backend();
  StoreLayout layout;
  const auto blocks = parameter_blocks(model.parameters, 1u << 30);
  add_model(layout, model, blocks);
  auto store = backend->make_store(layout);
  write_constants(*store, model);
  initialize(*store, model.parameters, 3);
  Graph graph;
  graph.mark_output(add_logits(graph, model, add_inputs(graph, model, two_streams)), "logits");
  auto program = backend->compile(std::move(graph), store);
  const auto logits = [&](const Permuted& batch) {
    Feed inputs = batch.feed();
    std::erase_if(inputs, [](const auto& input) { return input.first == "targets"; });
    write_feed(*program, inputs);
    program->run();
    return program->read("logits");
  };
  Permuted batch;
  const std::vector<float> before = logits(batch);
  // Position 4 comes last in the order of the first row, where it is prediction 2.
  batch.ids[4] = 1;
  CHECK(logits(batch) == before);
  batch.ids[2] = 1;  // the one before it, prediction 1
  const std::vector<float> after = logits(batch);
  const auto differ = [&](size_t prediction) {
    const auto row = static_cast<std::ptrdiff_t>(prediction) * model.vocabulary;
    return !std::equal(before.begin() + row, before.begin() + row + model.vocabulary, after.begin() + row);
  };
  CHECK(differ(2));
  CHECK_FALSE(differ(1));
  CHECK_FALSE(differ(0));
}

TEST_CASE("empty predictions count for nothing", "[xlnet][device][one_driver]") {
  const Model model = odd_model(0);
  const auto train = [&](Backend& backend, int64_t empty) {
    Permuted batch;
    std::vector<int32_t> predicted, targets;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t p = row * predictions; p < (row + 1) * predictions; ++p) {
        predicted.push_back(batch.predicted[p]);
        targets.push_back(batch.targets[p]);
      }
      predicted.insert(predicted.end(), static_cast<size_t>(empty), -1);
      targets.insert(targets.end(), static_cast<size_t>(empty), -100);
    }
    batch.predicted = predicted;
    batch.targets = targets;
    BatchShape shape = two_streams;
    shape.predictions += empty;
    Trainer trainer(backend, model, {.iterations = 3, .warmup = 0}, shape);
    initialize(trainer.store(), model.parameters, 3);
    std::vector<double> losses;
    for (int64_t i = 1; i <= 3; ++i) losses.push_back(trainer.step(i, batch.feed()));
    losses.push_back(trainer.evaluate(batch.feed()));
    return losses;
  };
  for (const auto& backend : {make_reference_backend(), make_backend("")}) {
    const auto want = train(*backend, 0), got = train(*backend, 2);
    for (size_t i = 0; i < want.size(); ++i) CHECK(std::abs(got[i] - want[i]) < 1e-5 * want[i]);
  }
}

TEST_CASE("distances are sines and cosines of all frequencies", "[xlnet]") {
  constexpr int64_t context = XlnetConfig::context, columns = 2 * context;
  const auto table = distance_table({.width = 6});
  REQUIRE(table.size() == 6 * columns);
  const auto at = [&](const std::vector<float>& values, int64_t row, int64_t distance) {
    return static_cast<double>(values[static_cast<size_t>(row * columns + context - distance)]);
  };
  CHECK(at(table, 0, 0) == 0);
  CHECK(at(table, 3, 0) == 1);
  CHECK(std::abs(at(table, 1, -5) - std::sin(-5 / std::pow(10000.0, 2.0 / 6))) < 1e-7);
  CHECK(std::abs(at(table, 5, 77) - std::cos(77 / std::pow(10000.0, 4.0 / 6))) < 1e-7);
  const auto clamped = distance_table({.width = 6, .farthest = 3});
  CHECK(at(clamped, 0, 3) == at(table, 0, 3));
  CHECK(at(clamped, 0, 4) == at(table, 0, 3));
  CHECK(at(clamped, 0, -9) == at(table, 0, -3));
}

TEST_CASE("wrong XLNet configs name the file and the key", "[xlnet]") {
  const auto says = [](const nlohmann::json& changes, const std::string& word) {
    check_refused(xlnet_config(changes), word);
  };
  CHECK(message_of(xlnet_config(nlohmann::json::object())) == "accepted");
  CHECK(message_of(xlnet_config({{"mem_len", 384}, {"use_mems_eval", true}})) == "accepted");
  says({{"d_model", 14}}, "n_head");
  says({{"d_model", 9}}, "odd");
  says({{"d_model", 2048}, {"n_head", 1}}, "256");
  says({{"d_head", 5}}, "d_head");
  says({{"n_layer", 0}}, "n_layer");
  says({{"vocab_size", int64_t{1} << 40}}, "vocab_size");
  says({{"ff_activation", "mish"}}, "mish");
  says({{"layer_norm_eps", -1}}, "layer_norm_eps");
  says({{"dropout", 1.5}}, "dropout");
  says({{"clamp_len", "far"}}, "clamp_len");
  says({{"attn_type", "uni"}}, "uni");
  says({{"bi_data", true}}, "bi_data");
  says({{"same_length", true}}, "same_length");
  says({{"architectures", {"XLNetForQuestionAnswering"}}}, "XLNetForQuestionAnswering");
  const nlohmann::json classifier = {"XLNetForSequenceClassification"};
  CHECK(message_of(xlnet_config({{"architectures", classifier}})) == "accepted");
  says({{"architectures", classifier}, {"summary_type", "mean"}}, "summary_type");
  says({{"architectures", classifier}, {"summary_proj_to_labels", true}}, "summary_proj_to_labels");
  says({{"architectures", classifier}, {"problem_type", "regression"}}, "regression");
  says({{"architectures", classifier}, {"id2label", {{"0", "only"}}}}, "id2label");
}

TEST_CASE("the XLNet config that is written describes the model that was read", "[xlnet]") {
  for (const XlnetConfig& config : {XlnetConfig{.width = 32, .layers = 1, .farthest = 9, .tied = false},
                                    XlnetConfig{.head = XlnetConfig::Head::classifier,
                                    .width = 32,
                                    .classes = {"no", "yes", "perhaps"},
                                    .summary_first = true,
                                    .summary_project = false,
                                    .summary_activation = Activation::none}}) {
    const Model model = make_xlnet(config);
    const Model again = make_model(JsonObject::parse(model.config->dump(), "config.json"));
    CHECK(*again.config == *model.config);
    CHECK(again.parameter_count() == model.parameter_count());
  }
}
