#include "runtime/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "runtime/tuning.h"

namespace vkformer {

namespace {

// Tensors start at multiples of 256 bytes: a whole number of cache lines and of every vector load.
constexpr int64_t alignment = 256;
constexpr int64_t align(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// A value's storage: `offset` bytes into the storage of value `root`.
struct Backing {
  int root;
  int64_t offset;
};

struct Planner {
  const Graph& graph;
  const DeviceFacts& facts;
  const StoreLayout& store;
  const PlanOptions& options;
  MemoryPlan plan = {};
  std::vector<Backing> backing = {};
  std::vector<char> used = {};  // by value: read by a live node or by the host

  const Node& node(int index) const { return graph.nodes()[static_cast<size_t>(index)]; }
  const ValueInfo& info(int id) const { return graph.info(Value{id}); }
  Backing& backing_of(Value value) { return backing[static_cast<size_t>(value.id)]; }

  void find_live_nodes() {
    plan.live_nodes = live_nodes(graph);
    used.assign(graph.value_count(), 0);
    for (Value output : graph.outputs()) used[static_cast<size_t>(output.id)] = 1;
    for (int i : plan.live_nodes)
      for (Value input : node(i).inputs)
        if (input) used[static_cast<size_t>(input.id)] = 1;
  }

  void choose_candidates() {
    plan.candidate.resize(graph.nodes().size());
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      if (!n.op->candidates) continue;
      const auto legal = n.op->candidates(n, facts);
      check(!legal.empty(), "[{}] is not supported on {} for {}", n.op->name, facts.name, n.attributes.to_string());
      auto chosen = std::find(legal.begin(), legal.end(), options.candidate);
      if (chosen == legal.end() && options.tuning)
        if (const Tuning::Choice* measured = options.tuning->find(n))
          chosen = std::find(legal.begin(), legal.end(), measured->candidate);
      plan.candidate[static_cast<size_t>(i)] = chosen == legal.end() ? legal.front() : *chosen;
    }
  }

  // Aliases first, then tensors that are parts of a joined block.
  void share_storage() {
    backing.resize(graph.value_count());
    for (size_t id = 0; id < backing.size(); ++id) backing[id] = {static_cast<int>(id), 0};
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      for (size_t o = 0; o < n.op->aliases.size(); ++o)
        if (n.op->aliases[o] >= 0)
          backing_of(n.outputs[o]) = backing_of(n.inputs[static_cast<size_t>(n.op->aliases[o])]);
    }
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      if (!n.op->places) continue;
      const auto offsets = n.op->places(n);
      const Backing block = backing_of(n.outputs[0]);
      for (size_t k = 0; k < n.inputs.size(); ++k) {
        const Value part = n.inputs[k];
        const ValueInfo& value = graph.info(part);
        const bool own = backing_of(part).root == part.id && value.storage == Storage::temporary && !value.output;
        if (own) backing_of(part) = {block.root, block.offset + offsets[k]};
      }
    }
    // A part may itself have been the root of others (aliases of it).
    for (Backing& b : backing)
      while (backing[static_cast<size_t>(b.root)].root != b.root) {
        const Backing& up = backing[static_cast<size_t>(b.root)];
        b = {up.root, up.offset + b.offset};
      }
  }

  struct Life {
    int first = std::numeric_limits<int>::max();
    int last = -1;
  };

  std::vector<Life> lifetimes() const {
    std::vector<Life> lives(graph.value_count());
    const int end = static_cast<int>(graph.nodes().size());
    auto touch = [&](Value value, int at) {
      Life& life = lives[static_cast<size_t>(backing[static_cast<size_t>(value.id)].root)];
      life.first = std::min(life.first, at);
      life.last = std::max(life.last, at);
    };
    for (int i : plan.live_nodes) {
      for (Value input : node(i).inputs)
        if (input) touch(input, i);
      for (Value output : node(i).outputs)
        if (has_storage(output)) touch(output, i);
    }
    for (Value output : graph.outputs()) touch(output, end);
    return lives;
  }

  bool has_storage(Value value) const {
    // The first output of a live node is always written; others only when somebody reads them.
    const ValueInfo& v = graph.info(value);
    if (used[static_cast<size_t>(value.id)] || backing[static_cast<size_t>(value.id)].root != value.id) return true;
    return v.producer >= 0 && node(v.producer).outputs.front() == value;
  }

  /// The input whose storage output 0 may have (-1: none).
  static int reusable_input(const Node& n) {
    if (n.op->addend_in_place && n.has_input(static_cast<size_t>(n.op->addend))) return n.op->addend;
    return n.op->in_place ? 0 : -1;
  }

  void reuse_in_place() {
    if (options.guard_bytes > 0) return;
    auto lives = lifetimes();
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      const int reused = reusable_input(n);
      if (reused < 0) continue;
      const Value from = n.inputs[static_cast<size_t>(reused)], to = n.outputs[0];
      const int root = backing_of(from).root;
      Life& life = lives[static_cast<size_t>(root)];
      bool legal = info(root).storage == Storage::temporary && !info(root).output && life.last == i &&
                   info(root).type.bytes() == graph.info(to).type.bytes();
      for (int k = 0; k < static_cast<int>(n.inputs.size()); ++k) {
        const Value input = n.inputs[static_cast<size_t>(k)];
        legal = legal && (k == reused || !input || backing_of(input).root != root);
      }
      if (!legal) continue;
      const Backing target = backing_of(to);
      if (target.root != to.id) {
        // The output is a part of a joined block: what it overwrites is computed there, too, unless the whole block
        // would have to live longer for that.
        if (info(target.root).storage != Storage::temporary || target.root == root) continue;
        if (life.first < lives[static_cast<size_t>(target.root)].first) continue;
        for (Backing& b : backing)
          if (b.root == root) b = {target.root, target.offset + b.offset};
      } else if (!graph.info(to).output) {
        life.last = std::max(life.last, lives[static_cast<size_t>(to.id)].last);
        for (Backing& b : backing)
          if (b.root == to.id) b.root = root;
      }
    }
  }

  std::string item_name(Value value) const {
    const ValueInfo& v = graph.info(value);
    if (v.producer < 0) return v.name;
    const Node& n = node(v.producer);
    return fmt::format("{}{}{} {}", n.scope, n.scope.empty() ? "" : " ", n.op->name, v.type.shape.to_string());
  }

  std::vector<PlannedItem*> place_items(std::vector<PlannedItem>& items) {
    std::vector<PlannedItem*> order;
    for (PlannedItem& item : items) order.push_back(&item);
    std::stable_sort(order.begin(), order.end(),
                     [](const PlannedItem* a, const PlannedItem* b) { return a->bytes > b->bytes; });
    const auto limit = static_cast<int64_t>(facts.max_allocation);
    std::vector<PlannedItem*> placed;
    for (PlannedItem* item : order) {
      const int64_t size = align(item->bytes + options.guard_bytes);
      check(size <= limit,
            "{} needs {} MiB, more than one allocation of {} may have ({} MiB); use a smaller batch or "
            "context",
            item->name, size >> 20, facts.name, limit >> 20);
      // The lowest gap among the items alive at the same time, block by block.
      for (int block = 0;; ++block) {
        std::vector<const PlannedItem*> neighbours;
        for (const PlannedItem* other : placed)
          if (other->place.block == block && other->first_node <= item->last_node &&
              item->first_node <= other->last_node)
            neighbours.push_back(other);
        std::sort(neighbours.begin(), neighbours.end(),
                  [](const auto* a, const auto* b) { return a->place.offset < b->place.offset; });
        int64_t offset = 0;
        for (const PlannedItem* other : neighbours) {
          if (offset + size <= other->place.offset) break;
          offset = std::max(offset, other->place.offset + align(other->place.bytes + options.guard_bytes));
        }
        if (offset + size > limit) continue;
        item->place = {Place::Area::arena, block, offset, item->bytes};
        if (static_cast<size_t>(block) == plan.arena_blocks.size()) plan.arena_blocks.push_back(0);
        int64_t& block_size = plan.arena_blocks[static_cast<size_t>(block)];
        block_size = std::max(block_size, offset + size);
        break;
      }
      placed.push_back(item);
    }
    return order;
  }

  void place() {
    const auto lives = lifetimes();
    std::vector<PlannedItem> items;
    std::vector<int> item_of_value(graph.value_count(), -1), item_of_scratch(graph.nodes().size(), -1);
    plan.values.resize(graph.value_count());
    plan.scratch.resize(graph.nodes().size());
    for (size_t id = 0; id < graph.value_count(); ++id) {
      const Value value{static_cast<int32_t>(id)};
      const ValueInfo& v = graph.info(value);
      if (v.storage == Storage::input) {
        plan.values[id] = {Place::Area::step, 0, plan.step_bytes, v.type.bytes()};
        plan.step_bytes += align(v.type.bytes() + options.guard_bytes);
      } else if (v.storage == Storage::persistent) {
        const StoreLayout::Entry& entry = store.require(v.name, v.type);
        plan.values[id] = {Place::Area::store, entry.block, entry.offset, v.type.bytes()};
      } else if (backing[id].root == value.id && lives[id].last >= 0) {
        item_of_value[id] = static_cast<int>(items.size());
        items.push_back({item_name(value), v.type.bytes(), lives[id].first, lives[id].last, {}});
      }
    }
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      const int64_t bytes = n.op->scratch ? n.op->scratch(n, facts, plan.candidate[static_cast<size_t>(i)]) : 0;
      if (bytes == 0) continue;
      item_of_scratch[static_cast<size_t>(i)] = static_cast<int>(items.size());
      items.push_back({fmt::format("{} {} workspace", n.scope, n.op->name), bytes, i, i, {}});
    }
    if (options.guard_bytes > 0)  // sentinels must survive to the end: no reuse
      for (PlannedItem& item : items) item.first_node = 0, item.last_node = static_cast<int>(graph.nodes().size());
    const std::vector<PlannedItem*> order = place_items(items);

    for (size_t id = 0; id < graph.value_count(); ++id) {
      const Value value{static_cast<int32_t>(id)};
      const ValueInfo& v = graph.info(value);
      if (v.storage != Storage::temporary) continue;
      const Backing b = backing[id];
      const Place base = item_of_value[static_cast<size_t>(b.root)] >= 0
                             ? items[static_cast<size_t>(item_of_value[static_cast<size_t>(b.root)])].place
                             : plan.values[static_cast<size_t>(b.root)];
      if (base.area == Place::Area::none || !has_storage(value)) continue;
      plan.values[id] = {base.area, base.block, base.offset + b.offset, v.type.bytes()};
    }
    for (size_t i = 0; i < item_of_scratch.size(); ++i)
      if (item_of_scratch[i] >= 0) plan.scratch[i] = items[static_cast<size_t>(item_of_scratch[i])].place;
    for (Value output : graph.outputs()) {
      plan.readback.push_back({Place::Area::none, 0, plan.readback_bytes, graph.info(output).type.bytes()});
      plan.readback_bytes += align(graph.info(output).type.bytes());
    }

    std::vector<int64_t> change(graph.nodes().size() + 2);
    for (const PlannedItem& item : items) {
      change[static_cast<size_t>(item.first_node)] += align(item.bytes);
      change[static_cast<size_t>(item.last_node) + 1] -= align(item.bytes);
    }
    int64_t live = 0;
    for (int64_t step : change) plan.live_set_bytes = std::max(plan.live_set_bytes, live += step);
    for (const PlannedItem* item : order) plan.items.push_back(*item);
  }
};

}  // namespace

int64_t MemoryPlan::arena_bytes() const {
  return std::accumulate(arena_blocks.begin(), arena_blocks.end(), int64_t{0});
}

void widen_blocks(std::vector<int64_t>& blocks, std::span<const int64_t> needed) {
  if (blocks.size() < needed.size()) blocks.resize(needed.size());
  for (size_t i = 0; i < needed.size(); ++i) blocks[i] = std::max(blocks[i], needed[i]);
}

std::vector<int> live_nodes(const Graph& graph) {
  const auto& nodes = graph.nodes();
  // wanted: read by a live node or by the host, or the storage of a persistent tensor.
  std::vector<char> wanted(graph.value_count());
  for (Value value : graph.persistents()) wanted[static_cast<size_t>(value.id)] = 1;
  for (const Node& node : nodes)
    for (size_t o = 0; o < node.op->aliases.size(); ++o)
      if (const int source = node.op->aliases[o];
          source >= 0 && wanted[static_cast<size_t>(node.inputs[static_cast<size_t>(source)].id)])
        wanted[static_cast<size_t>(node.outputs[o].id)] = 1;
  for (Value output : graph.outputs()) wanted[static_cast<size_t>(output.id)] = 1;
  std::vector<int> live;
  for (size_t i = nodes.size(); i-- > 0;) {
    if (std::none_of(nodes[i].outputs.begin(), nodes[i].outputs.end(),
                     [&](Value output) { return wanted[static_cast<size_t>(output.id)] != 0; }))
      continue;
    live.push_back(static_cast<int>(i));
    for (Value input : nodes[i].inputs)
      if (input) wanted[static_cast<size_t>(input.id)] = 1;
  }
  std::reverse(live.begin(), live.end());
  return live;
}

MemoryPlan plan_memory(const Graph& graph, const DeviceFacts& facts, const StoreLayout& store,
                       const PlanOptions& options) {
  verify(graph);
  Planner planner{graph, facts, store, options};
  planner.find_live_nodes();
  planner.choose_candidates();
  planner.share_storage();
  planner.reuse_in_place();
  planner.place();
  return std::move(planner.plan);
}

void verify(const Graph& graph) {
  std::vector<char> overwritten(graph.value_count());
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    for (Value input : node.inputs) {
      if (!input) continue;
      check(graph.info(input).producer < static_cast<int>(i), "[{}] {} reads a value that is not computed yet",
            node.op->name, node.scope);
      check(!overwritten[static_cast<size_t>(input.id)], "[{}] {} reads '{}' after it was changed in place",
            node.op->name, node.scope, graph.info(input).name);
    }
    check(node.op->infer(node) == node.output_types, "[{}] {} has outputs of other types than its rule gives",
          node.op->name, node.scope);
    for (size_t o = 0; o < node.op->aliases.size(); ++o) {
      const int source = node.op->aliases[o];
      if (source >= 0 && node.op->record != nullptr)
        overwritten[static_cast<size_t>(node.inputs[static_cast<size_t>(source)].id)] = 1;
    }
  }
}

}  // namespace vkformer
