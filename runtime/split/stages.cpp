#include "runtime/split/stages.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/op.h"
#include "runtime/plan.h"

namespace vkformer {

namespace {

class Cutter {
 public:
  Cutter(const Graph& graph, const std::function<int(const std::string&)>& part_of)
      : graph_(graph), part_of_(part_of), homes_(graph.value_count(), -1), made_(graph.value_count()) {}

  std::vector<Stage> cut() {
    const std::vector<int> live = live_nodes(graph_);
    std::vector<int> parts;
    for (const Value value : graph_.persistents()) homes_[index(value)] = part_of_(graph_.info(value).name);
    for (const int n : live) parts.push_back(home_of(node(n)));
    int part = 0;  // of nodes before the first that has a home
    for (const int home : parts)
      if (home >= 0) {
        part = home;
        break;
      }
    for (size_t i = 0; i < live.size(); ++i) {
      if (parts[i] >= 0) part = parts[i];
      if (stages_.empty() || stages_.back().part != part) begin_stage(part);
      add(node(live[i]));
    }
    if (stages_.empty()) begin_stage(part);
    for (const Value output : graph_.outputs()) mark(output);
    return std::move(stages_);
  }

 private:
  static size_t index(Value value) { return static_cast<size_t>(value.id); }
  const Node& node(int n) const { return graph_.nodes()[static_cast<size_t>(n)]; }

  /// What the value is the storage of, changed in place or under another shape.
  Value root_of(Value value) const {
    for (int producer; (producer = graph_.info(value).producer) >= 0;) {
      const Node& made_by = node(producer);
      const auto o = static_cast<size_t>(std::ranges::find(made_by.outputs, value) - made_by.outputs.begin());
      if (o >= made_by.op->aliases.size() || made_by.op->aliases[o] < 0) break;
      value = made_by.inputs[static_cast<size_t>(made_by.op->aliases[o])];
    }
    return value;
  }

  /// Where the node's persistent tensors are, and what it leaves of them; -1: anywhere.
  int home_of(const Node& node) {
    int home = -1;
    Value first;
    for (const Value input : node.inputs) {
      if (!input || homes_[index(input)] < 0) continue;
      const int its = homes_[index(input)];
      if (home >= 0 && home != its)
        fail("{}: [{}] reads '{}' and '{}', which are on two devices; this model can't be shared by several",
             node.scope, node.op->name, graph_.info(root_of(first)).name, graph_.info(root_of(input)).name);
      if (home < 0) first = input;
      home = its;
    }
    for (size_t o = 0; o < node.op->aliases.size() && o < node.outputs.size(); ++o)
      if (const int source = node.op->aliases[o]; source >= 0 && node.has_input(static_cast<size_t>(source)))
        homes_[index(node.outputs[o])] = homes_[index(node.inputs[static_cast<size_t>(source)])];
    return home;
  }

  void begin_stage(int part) {
    stages_.push_back({.part = part, .graph = {}, .taken = {}});
    here_.assign(graph_.value_count(), {});
  }

  void add(const Node& node) {
    Values inputs;
    for (const Value input : node.inputs) inputs.push_back(input ? here(input) : Value{});
    Graph& graph = stages_.back().graph;
    graph.set_scope(node.scope);
    const Values outputs = graph.add(*node.op, inputs, node.attributes);
    for (size_t o = 0; o < outputs.size(); ++o) {
      here_[index(node.outputs[o])] = outputs[o];
      made_[index(node.outputs[o])] = {stages_.size() - 1, outputs[o]};
    }
  }

  /// The value in the last stage.
  Value here(Value value) {
    Value& known = here_[index(value)];
    if (known) return known;
    Stage& stage = stages_.back();
    const ValueInfo& info = graph_.info(value);
    if (info.storage == Storage::persistent)
      return known = stage.graph.persistent(info.name, info.type.shape, info.role, info.type.dtype);
    if (info.storage == Storage::input) return known = stage.graph.input(info.name, info.type.shape, info.type.dtype);
    // A cache that an earlier stage wrote to, on this device, is there.
    if (const Value root = root_of(value); graph_.info(root).storage == Storage::persistent &&
                                           graph_.info(root).type == info.type && homes_[index(value)] >= 0)
      return here_[index(value)] = here(root);
    const auto& [from, there] = made_[index(value)];
    const std::string name = fmt::format("value {}", value.id);
    stages_[from].graph.mark_output(there, name);
    stage.taken.push_back({name, from});
    return known = stage.graph.input(name, info.type.shape, info.type.dtype);
  }

  void mark(Value output) {
    const std::string& name = graph_.info(output).name;
    if (graph_.info(output).producer < 0) return stages_.back().graph.mark_output(here(output), name);
    const auto& [stage, there] = made_[index(output)];
    stages_[stage].graph.mark_output(there, name);
  }

  const Graph& graph_;
  const std::function<int(const std::string&)>& part_of_;
  std::vector<int> homes_;                      ///< by value; -1: none
  std::vector<std::pair<size_t, Value>> made_;  ///< by value: the stage that computes it, and its value there
  std::vector<Value> here_;                     ///< by value: that of the last stage
  std::vector<Stage> stages_;
};

}  // namespace

std::vector<Stage> cut_into_stages(const Graph& graph, const std::function<int(const std::string&)>& part_of) {
  return Cutter(graph, part_of).cut();
}

}  // namespace vkformer
