#include "models/weight_placement.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <ranges>

#include "models/adapters/lora.h"
#include "models/generation/generation_plan.h"
#include "models/stored_weights.h"
#include "runtime/layer_name.h"
#include "runtime/op.h"
#include "shaders/embedding/embedding.h"
#include "shaders/expert_matmul/expert_matmul.h"

namespace vkformer {

namespace {

/// Of a matrix that is a smaller part of all weights an access less says more than its bytes.
constexpr int64_t smallest_part = 4096;
/// Tokens that are written for a text, at least, behind what an encoder reads once.
constexpr double tokens_of_text = 16;

/// Of input i, by a run of the node.
double share_read(const Node& node, size_t i) {
  const auto rows = static_cast<double>(node.out(0).rows());
  if (is_embedding(node)) return std::min(1.0, rows / static_cast<double>(node.in(i).rows()));
  if (is_expert_matmul(node) && i == 1) return std::min(1.0, rows / static_cast<double>(node.in(1)[0]));
  return 1;
}

/// All families' names of attentions have it in common.
bool is_of_attention(const std::string& name) { return name.find("att") != name.npos || name.find("Att") != name.npos; }

/// By the names of tensors in graphs, the share of its bytes that a token reads.
std::map<std::string, double> shares_read(const Model& model) {
  std::map<std::string, double> shares;
  const auto visit = [&](Graph graph, double runs) {
    std::map<int32_t, Value> of_renamed;
    for (const Node& node : graph.nodes()) {
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i]) continue;
        const auto renamed = of_renamed.find(node.inputs[i].id);
        const Value value = renamed == of_renamed.end() ? node.inputs[i] : renamed->second;
        if (node.op->renames_storage()) {
          of_renamed[node.outputs[0].id] = value;
          continue;
        }
        if (graph.info(value).storage != Storage::persistent) continue;
        shares[graph.info(value).name] += runs * share_read(node, i);
      }
    }
  };
  const auto stored = [&](Graph graph) { return with_stored_types(adapted(std::move(graph), model), model); };
  if (!model.generates()) {
    Graph graph;
    add_logits(graph, model, add_inputs(graph, model, {}));
    visit(stored(std::move(graph)), 1);
    return shares;
  }
  const GeneratorShape smallest{.capacity = 1, .source_positions = model.has_encoder() ? 1 : 0};
  visit(build_generation(model, smallest, 1), 1);
  if (model.has_encoder()) visit(build_encoder(model, smallest), 1 / tokens_of_text);
  return shares;
}

int64_t bytes_of(const std::vector<ParameterSpec>& parameters) {
  return std::accumulate(parameters.begin(), parameters.end(), int64_t{0},
                         [](int64_t sum, const ParameterSpec& each) { return sum + each.stored().bytes(); });
}

}  // namespace

std::vector<WeightUse> leaving_weights(const Model& model, bool frozen) {
  const std::map<std::string, double> shares = shares_read(model);
  const int64_t all = bytes_of(model.parameters);
  struct Candidate {
    WeightUse use;
    bool stays = false;
  };
  std::map<std::string_view, Candidate> by_name;
  for (size_t i = 0; i < model.parameters.size(); ++i) {
    const ParameterSpec& parameter = model.parameters[i];
    const std::string& name = parameter.joint.empty() ? parameter.name : parameter.joint;
    Candidate& candidate = by_name[name];
    const auto found = shares.find(parameter.apart ? parameter.name : name);
    if (found != shares.end()) candidate.use.read += found->second * static_cast<double>(parameter.stored().bytes());
    candidate.use.parameters.push_back(i);
    candidate.use.bytes += parameter.stored().bytes();
    candidate.stays |= !parameter.decayed() || parameter.adapter || (frozen && parameter.trains());
  }
  std::vector<Candidate> candidates;
  for (auto& [name, candidate] : by_name)
    if (!candidate.stays && candidate.use.bytes * smallest_part >= all) candidates.push_back(std::move(candidate));
  std::ranges::sort(candidates, {}, [&](const Candidate& each) {
    const size_t first = each.use.parameters.front();
    const std::string& name = model.parameters[first].name;
    const auto layer = layer_name_of(name);
    return std::tuple(each.use.read / static_cast<double>(each.use.bytes), !layer, is_of_attention(name),
                      layer ? -layer->number : 0, first);
  });
  std::vector<WeightUse> uses;
  for (Candidate& candidate : candidates) uses.push_back(std::move(candidate.use));
  return uses;
}

HostWeights place_weights(Model& model, std::span<const WeightUse> leaving, int64_t budget) {
  for (ParameterSpec& parameter : model.parameters) parameter.in_host = false;
  int64_t stay = bytes_of(model.parameters);
  const auto move = [&](const WeightUse& use, bool to_host) {
    for (size_t i : use.parameters) model.parameters[i].in_host = to_host;
    stay -= to_host ? use.bytes : -use.bytes;
  };
  size_t count = 0;
  while (stay > budget && count < leaving.size()) move(leaving[count++], true);
  HostWeights placed;
  for (const WeightUse& use : leaving.first(count) | std::views::reverse) {
    if (stay + use.bytes <= budget) {
      move(use, false);
      continue;
    }
    placed.bytes += use.bytes;
    placed.read += use.read;
  }
  return placed;
}

HostWeights fit_weights(Model& model, int64_t available, const std::function<int64_t(const Model&)>& needed,
                        bool frozen) {
  int64_t over = needed(model) - available;
  if (over <= 0) return {};
  const std::vector<WeightUse> leaving = leaving_weights(model, frozen);
  const int64_t all = bytes_of(model.parameters);
  HostWeights placed;
  while (over > 0) {
    const HostWeights next = place_weights(model, leaving, all - placed.bytes - over);
    if (next.bytes <= placed.bytes) break;
    placed = next;
    over = needed(model) - available;
  }
  return placed;
}

}  // namespace vkformer
