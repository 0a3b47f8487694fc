#include "runtime/passes/recompute.h"

#include <algorithm>
#include <cctype>

#include "runtime/op.h"

namespace vkformer {

namespace {

/// Computing such a node again would change a tensor in place a second time.
bool changes_in_place(const Op& op) {
  return !op.renames_storage() &&
         std::any_of(op.aliases.begin(), op.aliases.end(), [](int source) { return source >= 0; });
}

}  // namespace

std::string_view layer_of(std::string_view scope) {
  for (size_t begin = 0; begin < scope.size();) {
    const size_t end = std::min(scope.find('.', begin), scope.size());
    const std::string_view part = scope.substr(begin, end - begin);
    if (!part.empty() && std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); }))
      return scope.substr(0, end);
    begin = end + 1;
  }
  return {};
}

Recomputation::Recomputation(const Graph& graph) : kept_(graph.value_count()) {
  for (size_t id = 0; id < graph.value_count(); ++id) {
    copies_.push_back(Value{static_cast<int32_t>(id)});
    const ValueInfo& info = graph.info(copies_.back());
    kept_[id] = info.producer < 0 || info.output;
  }
  for (const Node& node : graph.nodes()) {
    const std::string layer(layer_of(node.scope));
    const bool keeps = layer.empty() || changes_in_place(*node.op);
    for (Value output : node.outputs) kept_[static_cast<size_t>(output.id)] |= keeps;
    for (Value input : node.inputs) {
      if (!input || graph.info(input).producer < 0) continue;
      if (layers_[static_cast<size_t>(graph.info(input).producer)] != layer) kept_[static_cast<size_t>(input.id)] = 1;
    }
    if (!keeps) pending_[layer].push_back(layers_.size());
    layers_.push_back(layer);
  }
}

Node Recomputation::node(Graph& graph, size_t index) {
  const auto copied = [&](Values& values) {
    for (Value& value : values)
      if (value) value = copies_[static_cast<size_t>(value.id)];
  };
  if (const auto layer = pending_.find(layers_[index]); layer != pending_.end()) {
    const std::string outer = graph.scope();
    for (size_t n : layer->second) {
      Node again = graph.nodes()[n];  // a copy: the graph grows
      copied(again.inputs);
      graph.set_scope(again.scope);
      const Values outputs = graph.add(*again.op, again.inputs, again.attributes);
      for (size_t o = 0; o < outputs.size(); ++o)
        if (const auto id = static_cast<size_t>(again.outputs[o].id); !kept_[id]) copies_[id] = outputs[o];
    }
    graph.set_scope(outer);
    pending_.erase(layer);
  }
  Node node = graph.nodes()[index];
  copied(node.inputs);
  copied(node.outputs);
  return node;
}

}  // namespace vkformer
