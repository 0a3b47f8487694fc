#include "runtime/storage.h"

#include <algorithm>
#include <limits>

namespace vkformer {

int reusable_input(const Node& n) {
  if (n.op->addend_in_place && n.has_input(static_cast<size_t>(n.op->addend))) return n.op->addend;
  return n.op->in_place ? 0 : -1;
}

SharedStorage::SharedStorage(const Graph& graph, std::span<const int> live_nodes, bool in_place)
    : graph_(graph), live_nodes_(live_nodes), used_(graph.value_count()) {
  for (size_t id = 0; id < graph.value_count(); ++id) backing_.push_back({static_cast<int>(id), 0});
  find_used();
  follow_aliases();
  place_parts();
  if (in_place) overwrite_operands();
}

void SharedStorage::find_used() {
  for (Value output : graph_.outputs()) used_[static_cast<size_t>(output.id)] = 1;
  for (int i : live_nodes_)
    for (Value input : node(i).inputs)
      if (input) used_[static_cast<size_t>(input.id)] = 1;
}

void SharedStorage::follow_aliases() {
  for (int i : live_nodes_) {
    const Node& n = node(i);
    for (size_t o = 0; o < n.op->aliases.size(); ++o)
      if (n.op->aliases[o] >= 0) backing(n.outputs[o]) = backing(n.inputs[static_cast<size_t>(n.op->aliases[o])]);
  }
}

void SharedStorage::place_parts() {
  for (int i : live_nodes_) {
    const Node& n = node(i);
    if (!n.op->places) continue;
    const auto offsets = n.op->places(n);
    if (offsets.empty()) continue;
    const Backing block = backing(n.outputs[0]);
    for (size_t k = 0; k < n.inputs.size(); ++k) {
      const Value part = n.inputs[k];
      const ValueInfo& value = graph_.info(part);
      const bool own = backing(part).root == part.id && value.storage == Storage::temporary && !value.output;
      if (own) backing(part) = {block.root, block.offset + offsets[k]};
    }
  }
  // A part may itself have been the root of others (aliases of it).
  for (Backing& b : backing_)
    while (backing_[static_cast<size_t>(b.root)].root != b.root) {
      const Backing& up = backing_[static_cast<size_t>(b.root)];
      b = {up.root, up.offset + b.offset};
    }
}

std::vector<Lifetime> SharedStorage::lifetimes() const {
  std::vector<Lifetime> lives(graph_.value_count(), {std::numeric_limits<int>::max(), -1});
  const int end = static_cast<int>(graph_.nodes().size());
  auto touch = [&](Value value, int at) {
    Lifetime& life = lives[static_cast<size_t>(of(value).root)];
    life.first = std::min(life.first, at);
    life.last = std::max(life.last, at);
  };
  for (int i : live_nodes_) {
    for (Value input : node(i).inputs)
      if (input) touch(input, i);
    for (Value output : node(i).outputs)
      if (is_needed(output)) touch(output, i);
  }
  for (Value output : graph_.outputs()) touch(output, end);
  return lives;
}

bool SharedStorage::is_needed(Value value) const {
  const ValueInfo& v = graph_.info(value);
  if (used_[static_cast<size_t>(value.id)] || of(value).root != value.id) return true;
  return v.producer >= 0 && node(v.producer).outputs.front() == value;
}

void SharedStorage::overwrite_operands() {
  const auto info = [&](int id) -> const ValueInfo& { return graph_.info(Value{id}); };
  auto lives = lifetimes();
  for (int i : live_nodes_) {
    const Node& n = node(i);
    const int reused = reusable_input(n);
    if (reused < 0) continue;
    const Value from = n.inputs[static_cast<size_t>(reused)], to = n.outputs[0];
    const int root = backing(from).root;
    Lifetime& life = lives[static_cast<size_t>(root)];
    bool legal = info(root).storage == Storage::temporary && !info(root).output && life.last == i &&
                 info(root).type.bytes() == graph_.info(to).type.bytes();
    for (int k = 0; k < static_cast<int>(n.inputs.size()); ++k) {
      const Value input = n.inputs[static_cast<size_t>(k)];
      legal = legal && (k == reused || !input || backing(input).root != root);
    }
    if (!legal) continue;
    const Backing target = backing(to);
    if (target.root != to.id) {
      // The output is a part of a joined block: what it overwrites is computed there, too, unless the whole block
      // would have to live longer for that.
      if (info(target.root).storage != Storage::temporary || target.root == root) continue;
      if (life.first < lives[static_cast<size_t>(target.root)].first) continue;
      for (Backing& b : backing_)
        if (b.root == root) b = {target.root, target.offset + b.offset};
    } else if (!graph_.info(to).output) {
      life.last = std::max(life.last, lives[static_cast<size_t>(to.id)].last);
      for (Backing& b : backing_)
        if (b.root == to.id) b.root = root;
    }
  }
}

}  // namespace vkformer
