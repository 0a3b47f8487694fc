// Activations computed again for the backward pass: only what is needed, where it is needed, with the same bits.

#include "runtime/passes/recompute.h"
#include "models/families/registry.h"
#include "models/parameters.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/training/trainer.h"
#include "runtime/autodiff.h"
#include "shaders/elementwise/elementwise.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// "scope op" of the nodes that run.
std::vector<std::string> running(const Graph& graph) {
  std::vector<std::string> names;
  for (int n : live_nodes(graph)) {
    const Node& node = graph.nodes()[static_cast<size_t>(n)];
    names.push_back(fmt::format("{} {}", node.scope, node.op->name));
  }
  return names;
}

/// Every bit that training leaves behind, after some steps.
struct Trained {
  std::vector<double> losses, norms;
  std::vector<std::vector<float>> blocks;
  int64_t temporaries = 0;
  bool operator==(const Trained& other) const {
    return losses == other.losses && norms == other.norms && blocks == other.blocks;
  }
};

Trained train(Backend& backend, const Model& model, TrainSettings settings, bool checkpoint_activations) {
  settings.checkpoint_activations = checkpoint_activations;
  Trainer trainer(backend, model, settings, usual_batch(model, 2, 31));
  initialize(trainer.store(), model.parameters, 5);
  // What the host writes: ids, targets and masks, the ends of the masked sequences being padding.
  const Graph& graph = trainer.programs()[0].second->graph();
  std::map<std::string, std::vector<int32_t>> values;
  for (Value input : graph.inputs()) {
    const ValueInfo& info = graph.info(input);
    if (info.type.dtype != DType::i32 || info.name == "seed" || info.name == "first") continue;
    auto& filled = values[info.name];
    for (int64_t i = 0; i < info.type.elements() * settings.accumulate; ++i) {
      const bool end = (i + 1) % info.type.shape.columns() == 0;
      filled.push_back(static_cast<int32_t>(info.name.ends_with("mask") ? !end : (i * 5 + i / 7) % 23));
    }
  }
  Feed feed;
  for (const auto& [name, numbers] : values) feed.emplace_back(name, numbers);
  Trained result;
  for (int64_t i = 1; i <= 2; ++i) {
    result.losses.push_back(trainer.step(i, feed));
    result.norms.push_back(trainer.gradient_norm());
  }
  for (const char* block : {"parameters", "exp_avg", "exp_avg_sq"})
    result.blocks.push_back(trainer.store().read(block_name(block, 0)));
  result.temporaries = trainer.plan().temporaries().front().bytes;
  return result;
}

}  // namespace

TEST_CASE("scopes name their layers", "[recompute]") {
  CHECK(layer_of("h.0.attn.c_attn") == "h.0");
  CHECK(layer_of("decoder.13.self.q") == "decoder.13");
  CHECK(layer_of("layer.2") == "layer.2");
  CHECK(layer_of("lm_head").empty());
  CHECK(layer_of("h.x2.y").empty());
  CHECK(layer_of("").empty());
}

TEST_CASE("only what gradients read is computed again, right before them", "[recompute]") {
  Graph graph;
  const Value x = graph.input("x", {5}), upstream = graph.input("upstream", {5});
  Value y = x;
  for (const char* name : {"h.0", "h.1"}) {
    const Graph::Scope scope(graph, name);
    const Value inner = activate(graph, Activation::gelu, scale(graph, y, 2));
    y = add(graph, y, scale(graph, inner, 3));
  }
  const size_t forward = graph.nodes().size();
  graph.mark_output(differentiate(graph, y, upstream, Values{x}, true)[0], "dx");
  graph.mark_output(y, "y");
  const auto names = running(graph);
  const std::vector<std::string> backward(names.begin() + static_cast<std::ptrdiff_t>(forward), names.end());
  // gelu's gradient reads scale's result; gelu's own result and the sum's terms are read by none.
  CHECK(backward == std::vector<std::string>{"h.1 scale", "h.1 scale", "h.1 gelu_backward", "h.1 scale", "h.1 add",
                                             "h.0 scale", "h.0 scale", "h.0 gelu_backward", "h.0 scale", "h.0 add"});
}

TEST_CASE("recomputed activations change no bit of training", "[recompute][device][one_driver]") {
  const std::vector<nlohmann::json> configs = {
      {{"model_type", "gpt2"}, {"vocab_size", 37}, {"n_positions", 64}, {"n_embd", 36}, {"n_layer", 4}, {"n_head", 3}},
      {{"model_type", "llama"},
       {"vocab_size", 37},
       {"max_position_embeddings", 64},
       {"hidden_size", 24},
       {"num_attention_heads", 4},
       {"num_key_value_heads", 2},
       {"num_hidden_layers", 4},
       {"intermediate_size", 40},
       {"attention_dropout", 0.1}},
      {{"model_type", "t5"},
       {"vocab_size", 37},
       {"d_model", 19},
       {"d_kv", 7},
       {"num_heads", 3},
       {"d_ff", 23},
       {"num_layers", 3},
       {"decoder_start_token_id", 0},
       {"dropout_rate", 0.1}},
      {{"model_type", "bert"},
       {"architectures", {"BertForMaskedLM"}},
       {"vocab_size", 37},
       {"max_position_embeddings", 64},
       {"hidden_size", 15},
       {"num_attention_heads", 3},
       {"num_hidden_layers", 4},
       {"intermediate_size", 21}}};
  auto backend = make_backend("");
  for (const nlohmann::json& config : configs) {
    INFO(config.dump());
    const Model model = model_of(config);
    for (const int64_t accumulate : {1, 2}) {
      const TrainSettings settings{.accumulate = accumulate, .warmup = 0};
      const Trained kept = train(*backend, model, settings, false), again = train(*backend, model, settings, true);
      CHECK(again == kept);
      CHECK(again.temporaries < kept.temporaries);
    }
  }
}
