#include "runtime/plan.h"

#include <algorithm>
#include <numeric>

#include "runtime/storage.h"
#include "runtime/tuning.h"
#include "runtime/verify.h"

namespace vkformer {

namespace {

// Tensors start at multiples of 256 bytes: a whole number of cache lines and of every vector load.
constexpr int64_t alignment = 256;
constexpr int64_t align(int64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

bool overlap(const Place& a, const Place& b) {
  return a.area == b.area && a.block == b.block && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

struct Planner {
  const Graph& graph;
  const DeviceFacts& facts;
  const StoreLayout& store;
  const PlanOptions& options;
  MemoryPlan plan = {};

  const Node& node(int index) const { return graph.nodes()[static_cast<size_t>(index)]; }

  void choose_candidates() {
    plan.candidate.resize(graph.nodes().size());
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      if (!n.op->candidates) continue;
      auto legal = n.op->candidates(n, facts);
      check(!legal.empty(), "[{}] has no kernel on {} for {} and {}; use a smaller batch or context", n.op->name,
            facts.name, n.in(0).to_string(), n.attributes.to_string());
      if (options.refused)
        std::erase_if(legal, [&](std::string_view name) { return options.refused->contains({n.op->name, name}); });
      check(!legal.empty(),
            "[{}] the driver of {} ({}) compiles none of its kernels for {}; update it, or take another "
            "--device",
            n.op->name, facts.name, facts.driver, n.in(0).to_string());
      auto chosen = std::find(legal.begin(), legal.end(), options.candidate);
      if (chosen == legal.end() && options.tuning)
        if (const Tuning::Choice* measured = options.tuning->find(n))
          chosen = std::find(legal.begin(), legal.end(), measured->candidate);
      plan.candidate[static_cast<size_t>(i)] = chosen == legal.end() ? legal.front() : *chosen;
    }
  }

  std::string item_name(Value value) const {
    const ValueInfo& v = graph.info(value);
    if (v.producer < 0) return v.name;
    const Node& n = node(v.producer);
    return fmt::format("{}{}{} {}", n.scope, n.scope.empty() ? "" : " ", n.op->name, v.type.shape.to_string());
  }

  /// verify() knows values by their names. A store's tensor may have several: its own, its block's, those of its parts.
  void refuse_stale_reads() const {
    struct Change {
      int node;
      Place place;
    };
    std::vector<Change> changes;
    for (int i : plan.live_nodes) {
      const Node& n = node(i);
      for (Value input : n.inputs) {
        if (!input) continue;
        const Place& read = plan.values[static_cast<size_t>(input.id)];
        for (const Change& change : changes)
          check(graph.info(input).producer >= change.node || !overlap(read, change.place),
                "[{}] {} reads '{}', which {} has changed before under another name", n.op->name, n.scope,
                graph.info(input).name, node(change.node).op->name);
      }
      if (n.op->renames_storage()) continue;
      for (size_t o = 0; o < n.op->aliases.size(); ++o)
        if (const Place& place = plan.values[static_cast<size_t>(n.outputs[o].id)];
            n.op->aliases[o] >= 0 && place.area == Place::Area::store)
          changes.push_back({i, place});
    }
  }

  /// `what`: a subject and its verb.
  void check_allocation(std::string_view what, int64_t bytes) const {
    const auto limit = static_cast<int64_t>(facts.max_allocation);
    check(bytes <= limit, "{} {} MiB, more than one allocation of {} may have ({} MiB); use a smaller batch or context",
          what, bytes >> 20, facts.name, limit >> 20);
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
      check_allocation(item->name + " needs", size);
      // The lowest gap among the items alive at the same time, or up to `apart` nodes before or after.
      const auto lowest_gap = [&](int block, int apart) {
        std::vector<const PlannedItem*> neighbours;
        for (const PlannedItem* other : placed)
          if (other->place.block == block && other->first_node <= item->last_node + apart &&
              item->first_node <= other->last_node + apart)
            neighbours.push_back(other);
        std::sort(neighbours.begin(), neighbours.end(),
                  [](const auto* a, const auto* b) { return a->place.offset < b->place.offset; });
        int64_t offset = 0;
        for (const PlannedItem* other : neighbours) {
          if (offset + size <= other->place.offset) break;
          offset = std::max(offset, other->place.offset + align(other->place.bytes + options.guard_bytes));
        }
        return offset;
      };
      for (int block = 0;; ++block) {
        const bool known = static_cast<size_t>(block) < plan.arena_blocks.size();
        const int64_t room = known ? plan.arena_blocks[static_cast<size_t>(block)] : 0;
        // Where the node before still reads, a write would wait for it. Small items, which come last, find other room.
        int64_t offset = lowest_gap(block, 1);
        if (offset + size > room || size > room / 16) offset = lowest_gap(block, 0);
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

  /// By value id: how often a node that runs reads it.
  std::vector<int> count_reads() const {
    std::vector<int> reads(graph.value_count());
    for (int i : plan.live_nodes)
      for (Value input : node(i).inputs)
        if (input) ++reads[static_cast<size_t>(input.id)];
    return reads;
  }

  /// Small results that only the host reads are written where it does: a copy would be one more thing to wait for at
  /// the end of every token. Large ones are copied as one piece rather than go over the bus store by store.
  void place_results(const SharedStorage& storage) {
    constexpr int64_t most_direct = 2048;
    const std::vector<int> reads = count_reads();
    std::vector<int> sharers(graph.value_count());
    for (size_t id = 0; id < graph.value_count(); ++id)
      if (const int32_t root = storage.of({static_cast<int32_t>(id)}).root; root >= 0)
        ++sharers[static_cast<size_t>(root)];
    for (Value output : graph.outputs()) {
      const auto id = static_cast<size_t>(output.id);
      const ValueInfo& v = graph.info(output);
      plan.readback.push_back({Place::Area::readback, 0, plan.readback_bytes, v.type.bytes()});
      plan.readback_bytes += align(v.type.bytes());
      const bool alone = storage.of(output).root == output.id && sharers[id] == 1 && reads[id] == 0;
      if (options.guard_bytes == 0 && v.storage == Storage::temporary && alone && v.type.bytes() <= most_direct)
        plan.values[id] = plan.readback.back();
    }
  }

  void place() {
    // With sentinels every tensor has a place of its own.
    const SharedStorage storage(graph, plan.live_nodes, options.guard_bytes == 0);
    const auto lives = storage.lifetimes();
    std::vector<PlannedItem> items;
    std::vector<int> item_of_value(graph.value_count(), -1), item_of_scratch(graph.nodes().size(), -1);
    plan.values.resize(graph.value_count());
    plan.scratch.resize(graph.nodes().size());
    place_results(storage);
    for (size_t id = 0; id < graph.value_count(); ++id) {
      const Value value{static_cast<int32_t>(id)};
      const ValueInfo& v = graph.info(value);
      if (v.storage == Storage::input) {
        plan.values[id] = {Place::Area::step, 0, plan.step_bytes, v.type.bytes()};
        plan.step_bytes += align(v.type.bytes() + options.guard_bytes);
      } else if (v.storage == Storage::persistent) {
        const StoreLayout::Entry& entry = store.require(v.name, v.type);
        plan.values[id] = {Place::Area::store, entry.block, entry.offset, v.type.bytes()};
      } else if (storage.of(value).root == value.id && lives[id].last >= 0 &&
                 plan.values[id].area == Place::Area::none) {
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
      if (v.storage != Storage::temporary || plan.values[id].area != Place::Area::none) continue;
      const Backing b = storage.of(value);
      const Place base = item_of_value[static_cast<size_t>(b.root)] >= 0
                             ? items[static_cast<size_t>(item_of_value[static_cast<size_t>(b.root)])].place
                             : plan.values[static_cast<size_t>(b.root)];
      if (base.area == Place::Area::none || !storage.is_needed(value)) continue;
      plan.values[id] = {base.area, base.block, base.offset + b.offset, v.type.bytes()};
    }
    for (size_t i = 0; i < item_of_scratch.size(); ++i)
      if (item_of_scratch[i] >= 0) plan.scratch[i] = items[static_cast<size_t>(item_of_scratch[i])].place;
    check_allocation("all inputs together need", plan.step_bytes);
    check_allocation("all outputs together need", plan.readback_bytes);

    refuse_stale_reads();

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
  planner.plan.live_nodes = live_nodes(graph);
  planner.choose_candidates();
  planner.place();
  return std::move(planner.plan);
}

}  // namespace vkformer
