// Weights in host memory: which leave the device first, what then reads copies of them, and that no bit changes.

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "models/adapters/lora.h"
#include "models/generation/generation.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "models/training/trainer.h"
#include "models/weight_placement.h"
#include "runtime/passes/copied_weights.h"
#include "shaders/matmul/matmul.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

std::vector<std::string> leaving_names(const Model& model, bool frozen = false) {
  std::vector<std::string> names;
  for (const WeightUse& use : leaving_weights(model, frozen))
    names.push_back(model.parameters[use.parameters.front()].name);
  return names;
}

int64_t bytes_in_host(const Model& model) {
  int64_t bytes = 0;
  for (const ParameterSpec& parameter : model.parameters)
    if (parameter.in_host) bytes += parameter.stored().bytes();
  return bytes;
}

/// Half of the device's memory counts as the host's.
std::unique_ptr<Backend> halved_backend() { return make_backend("", {.memory = {.share = 0.5}}); }

int64_t copies_in(const Graph& graph) {
  return std::ranges::count_if(graph.nodes(), [](const Node& node) { return node.op->name == std::string("rows"); });
}

Model two_layer_llama() {
  return model_of({{"model_type", "llama"},
                   {"vocab_size", 101},
                   {"max_position_embeddings", 512},
                   {"hidden_size", 64},
                   {"intermediate_size", 128},
                   {"num_hidden_layers", 2},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"tie_word_embeddings", false}});
}

struct PlacedText {
  std::vector<float> logits;
  int64_t copies = 0;  ///< of a run of the prompt
  int64_t host_bytes = 0;
};

/// Logits behind a prompt, and behind the tokens that follow.
PlacedText text_of(Backend& backend, const Model& model) {
  Generator generator(backend, model, {.capacity = 256});
  initialize(generator.store(), model.parameters, 3);
  PlacedText written{.host_bytes = generator.store().layout().host_bytes()};
  const auto take = [&](const std::vector<float>& logits) {
    written.logits.insert(written.logits.end(), logits.begin(), logits.end());
  };
  take(generator.prefill(some_ids(200, model.vocabulary, 5)));
  written.copies = copies_in(generator.prefill_program()->graph());
  for (const int32_t token : {1, 7, 2}) take(generator.decode(token));
  CHECK(copies_in(generator.decode_program()->graph()) == 0);
  return written;
}

/// What training leaves behind.
struct PlacedTraining {
  std::vector<double> losses;
  std::vector<std::vector<float>> tensors;
  int64_t copies = 0, host_bytes = 0;
};

PlacedTraining training_of(Backend& backend, const Model& model, const TrainSettings& settings = {.warmup = 0}) {
  Trainer trainer(backend, model, settings, {.rows = 2, .positions = 40});
  initialize(trainer.store(), model.parameters, 5);
  const std::vector<int32_t> ids = some_ids(80, model.vocabulary, 5), targets = some_ids(80, model.vocabulary, 11);
  PlacedTraining trained{.copies = copies_in(trainer.programs()[0].second->graph()),
                         .host_bytes = trainer.store().layout().host_bytes()};
  for (int64_t i = 1; i <= 3; ++i) trained.losses.push_back(trainer.step(i, ids, targets));
  for (const ParameterSpec& parameter : model.parameters)
    trained.tensors.push_back(trainer.store().read(parameter.name));
  return trained;
}

}  // namespace

TEST_CASE("what a token reads the least of leaves the device first", "[host_weights]") {
  using Names = std::vector<std::string>;
  const std::string layer = "model.layers.";
  CHECK(leaving_names(two_layer_llama()) ==
        Names{"model.embed_tokens.weight", layer + "1.mlp.gate_proj.weight", layer + "1.mlp.down_proj.weight",
              layer + "0.mlp.gate_proj.weight", layer + "0.mlp.down_proj.weight", layer + "1.self_attn.q_proj.weight",
              layer + "1.self_attn.o_proj.weight", layer + "0.self_attn.q_proj.weight",
              layer + "0.self_attn.o_proj.weight", "lm_head.weight"});
  // A tied table is the matrix of the head, too; positions are gathered.
  const Names gpt2 = leaving_names(load_model(fixtures / "gpt2"));
  CHECK(gpt2.front() == "transformer.wpe.weight");
  CHECK(gpt2.back() == "transformer.wte.weight");
  // Experts go as wholes, before what every token reads.
  const Model mixture = load_model(fixtures / "mixtral");
  const std::vector<WeightUse> uses = leaving_weights(mixture);
  CHECK(uses[0].parameters.size() == 1);
  for (size_t i = 1; i <= 2 * static_cast<size_t>(mixture.layers); ++i) {
    CHECK(mixture.parameters[uses[i].parameters.front()].name.find("experts") != std::string::npos);
    CHECK(uses[i].parameters.size() % 5 == 0);
    CHECK(std::llround(uses[i].read) == uses[i].bytes * 2 / 5);
  }
  // An encoder reads a text once.
  const Names t5 = leaving_names(load_model(fixtures / "t5"));
  CHECK(std::ranges::find(t5, "encoder.block.0.layer.0.SelfAttention.q.weight") <
        std::ranges::find(t5, "decoder.block.1.layer.2.DenseReluDense.wi.weight"));
}

TEST_CASE("as much leaves as has to", "[host_weights]") {
  Model model = two_layer_llama();
  const std::vector<WeightUse> uses = leaving_weights(model);
  int64_t all = 0, may_leave = 0;
  for (const ParameterSpec& parameter : model.parameters) all += parameter.stored().bytes();
  for (const WeightUse& use : uses) may_leave += use.bytes;
  CHECK(place_weights(model, uses, all) == HostWeights{});
  CHECK(place_weights(model, uses, all - 1).bytes == uses.front().bytes);
  // The table, which left first, has room again behind a larger one.
  CHECK(place_weights(model, uses, all - uses[0].bytes - 1).bytes == uses[1].bytes);
  CHECK(place_weights(model, uses, 0).bytes == may_leave);
  CHECK(bytes_in_host(model) == may_leave);
  for (const ParameterSpec& parameter : model.parameters) CHECK(parameter.in_host == (parameter.shape.rank() == 2));
  // What runs over the weights counts, too.
  const auto needed = [&](const Model& placed) { return all - bytes_in_host(placed) + 1000; };
  CHECK(fit_weights(model, all + 1000, needed) == HostWeights{});
  fit_weights(model, all, needed);
  CHECK(needed(model) <= all);
  CHECK(fit_weights(model, 10, needed).bytes == may_leave);
}

TEST_CASE("weights in host memory lie in blocks of their own", "[host_weights]") {
  Model model = two_layer_llama();
  const std::vector<WeightUse> uses = leaving_weights(model);
  place_weights(model, std::span(uses).first(2), 0);
  StoreLayout layout;
  add_model(layout, model, parameter_blocks(model.parameters, uint64_t{1} << 30));
  CHECK(layout.host_bytes() == uses[0].bytes + uses[1].bytes);
  CHECK(layout.device_bytes() + layout.host_bytes() == layout.total_bytes());
  for (const ParameterSpec& parameter : model.parameters) CHECK(layout.in_host(parameter.name) == parameter.in_host);
  CHECK_FALSE(layout.in_host("no tensor"));
}

TEST_CASE("products of many rows read copies, the next one's made before", "[host_weights]") {
  StoreLayout layout;
  const TensorType type{{8, 8}};
  layout.add_block("device", std::vector<StoreLayout::Part>{{"near", type}});
  layout.add_block("host", std::vector<StoreLayout::Part>{{"a", type}, {"b", type}}, BlockMemory::host);
  const auto names_of = [&](int64_t rows) {
    Graph graph;
    Value x = graph.input("x", {rows, 8});
    for (const char* name : {"a", "near", "b", "b", "a"}) {
      const Graph::Scope scope(graph, name);
      x = matmul(graph, x, graph.persistent(name, type.shape), {.transpose_b = true});
    }
    graph.mark_output(x, "y");
    const Graph copying = with_copied_weights(std::move(graph), layout);
    std::vector<std::string> names;
    for (const Node& node : copying.nodes()) names.push_back(fmt::format("{} {}", node.op->name, node.scope));
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(names_of(64) == Names{"matmul a", "matmul near", "matmul b", "matmul b", "matmul a"});
  CHECK(names_of(65) ==
        Names{"rows a", "rows b", "matmul a", "matmul near", "matmul b", "rows a", "matmul b", "matmul a"});
}

TEST_CASE("weights in host memory give the same logits, bit for bit", "[host_weights][device][one_driver]") {
  const auto backend = halved_backend();
  struct Case {
    Model model;
    DType type = DType::f32;
  };
  for (auto& [model, type] : {Case{two_layer_llama()}, {two_layer_llama(), DType::q8_0}, {model_of(latent_config())}}) {
    INFO(model.family << ' ' << name_of(type));
    Model stored = model;
    if (type != DType::f32) store_weights_as(stored, type);
    const std::vector<WeightUse> uses = leaving_weights(stored);
    const PlacedText near = text_of(*backend, stored);
    CHECK(near.copies == 0);
    CHECK(near.host_bytes == 0);
    const int64_t half = place_weights(stored, std::span(uses).first(uses.size() / 2), 0).bytes;
    const PlacedText in_part = text_of(*backend, stored);
    CHECK(in_part.logits == near.logits);
    CHECK(in_part.copies > 0);
    CHECK(in_part.host_bytes >= half);
    place_weights(stored, uses, 0);
    const PlacedText far = text_of(*backend, stored);
    CHECK(far.logits == near.logits);
    CHECK(far.copies > in_part.copies);
    CHECK(far.host_bytes > in_part.host_bytes);
  }
}

TEST_CASE("frozen weights in host memory train an adapter to the same bits",
          "[host_weights][lora][device][one_driver]") {
  const auto backend = halved_backend();
  Model model = two_layer_llama();
  adapt(model, {.rank = 4, .alpha = 8}, modules_of_targets(model, {"all-linear"}), "base");
  const PlacedTraining near = training_of(*backend, model);
  const HostWeights placed = place_weights(model, leaving_weights(model, true), 0);
  for (const ParameterSpec& parameter : model.parameters) CHECK_FALSE((parameter.in_host && parameter.trains()));
  const PlacedTraining far = training_of(*backend, model);
  CHECK(far.losses == near.losses);
  CHECK(far.tensors == near.tensors);
  CHECK(far.copies > 0);
  CHECK(far.host_bytes >= placed.bytes);
}

TEST_CASE("moments in host memory train to the same bits", "[host_weights][device][one_driver]") {
  const auto backend = halved_backend();
  const Model model = two_layer_llama();
  for (const int64_t accumulate : {1, 2}) {
    TrainSettings settings{.accumulate = accumulate, .warmup = 0, .moving_average = 0.9};
    const auto train_two = [&](const TrainSettings& s) {
      Trainer trainer(*backend, model, s, {.rows = 1, .positions = 40});
      initialize(trainer.store(), model.parameters, 5);
      const std::vector<int32_t> ids = some_ids(40 * s.accumulate, model.vocabulary, 5),
                                 targets = some_ids(40 * s.accumulate, model.vocabulary, 11);
      std::vector<double> losses;
      for (int64_t i = 1; i <= 2; ++i) losses.push_back(trainer.step(i, ids, targets));
      std::vector<std::vector<float>> state;
      for (const char* block : {"parameters", "exp_avg", "exp_avg_sq", "average"})
        state.push_back(trainer.store().read(block_name(block, 0)));
      return std::tuple(losses, state, trainer.store().layout().host_bytes(), trainer.plan().device_bytes());
    };
    const auto near = train_two(settings);
    settings.offload_optimizer = true;
    const auto far = train_two(settings);
    CHECK(std::get<0>(far) == std::get<0>(near));
    CHECK(std::get<1>(far) == std::get<1>(near));
    CHECK(std::get<2>(near) == 0);
    CHECK(std::get<2>(far) == 3 * 4 * std::ssize(std::get<1>(far)[0]));
    CHECK(std::get<3>(far) == std::get<3>(near) - std::get<2>(far));
  }
}

TEST_CASE("no more host memory is taken than may be", "[host_weights][device][one_driver]") {
  const auto backend = make_backend("", {.as_gpu = true, .memory = {.share = 0.5, .host = 1000}});
  CHECK(backend->facts().host_memory_free == 1000);
  StoreLayout layout;
  layout.add_block("host", std::vector<StoreLayout::Part>{{"w", {{200}}}}, BlockMemory::host);
  const auto store = backend->make_store(layout);
  CHECK(backend->allocated_bytes() == 0);
  CHECK_THROWS_AS(backend->make_store(layout), Error);
  CHECK(make_backend("", {.memory = {.device = 5000}})->facts().memory_free == 5000);
}
