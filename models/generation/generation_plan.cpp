#include "models/generation/generation_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <ranges>
#include <set>

#include "models/adapters/lora.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/passes/fusion.h"
#include "runtime/passes/matrix_operands.h"
#include "runtime/passes/rewrite.h"
#include "shaders/attention/attention.h"
#include "shaders/cast/cast.h"
#include "shaders/cross_entropy/cross_entropy.h"
#include "shaders/draw/draw.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"
#include "shaders/rows/rows.h"
#include "shaders/slice/slice.h"
#include "shaders/softmax/softmax.h"
#include "shaders/top_k/top_k.h"

namespace vkformer {

namespace {

bool is_cache(const ValueInfo& info) { return info.role == Role::cache || info.role == Role::memory; }

/// What belongs to the rows of a Generator.
bool is_of_rows(const ValueInfo& info) { return is_cache(info) || info.role == Role::state; }

std::string row_of(const std::string& cache, int64_t row) { return fmt::format("{}, row {}", cache, row); }

/// Adds the node with inputs that it takes as they are, or those that have become 16 bits in f32.
Values add_with_caches(Rewritten& copy, const Node& node, Values inputs) {
  Node typed = node;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i]) typed.input_types[i] = copy.graph.info(inputs[i]).type;
  try {
    infer_types(typed);
  } catch (const Error&) {
    for (size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] && typed.input_types[i].dtype != node.input_types[i].dtype)
        inputs[i] = cast(copy.graph, inputs[i], node.input_types[i].dtype);
  }
  return copy.graph.add(*node.op, std::move(inputs), node.attributes);
}

/// With caches of the shape's type, and in its row.
Graph with_caches(Graph graph, const GeneratorShape& shape) {
  const DType type = shape.cache_type.value_or(DType::f32);
  if (type == DType::f32 && shape.cache_row < 0) return graph;
  const auto type_of = [type](const ValueInfo& info) {
    return is_cache(info) ? TensorType{info.type.shape, type} : info.type;
  };
  const auto name_of = [&](const ValueInfo& info) {
    return is_of_rows(info) && shape.cache_row >= 0 ? row_of(info.name, shape.cache_row) : info.name;
  };
  return rewrite(graph, {.type_of = type_of, .name_of = name_of, .add = add_with_caches}).graph;
}

/// A tensor of caches; where rows grow apart each is a tensor, too.
void add_cache(StoreLayout& layout, const std::string& name, const TensorType& type, bool apart) {
  std::vector<StoreLayout::Part> parts{{name, type}};
  if (apart) {
    const TensorType row{{1, type.shape[1], type.shape[2]}, type.dtype};
    parts.clear();
    for (int64_t r = 0; r < type.shape[0]; ++r) parts.push_back({row_of(name, r), row, true});
  }
  layout.add_block("block of " + name, parts);
  if (apart) layout.add_view(name, type, parts.front().name);
}

}  // namespace

Graph build_encoder(const Model& model, const GeneratorShape& shape, const DeviceFacts* device) {
  Graph graph;
  const TensorType source = model.source_type(shape.sources, shape.source_positions);
  Pass pass{.source = graph.input("source", source.shape, source.dtype)};
  if (model.masks_sources())
    pass.source_mask = graph.input("source_mask", {shape.sources, shape.source_positions}, DType::i32);
  pass.position = graph.input("position", {1}, DType::i32);
  pass.memory = model.encode(graph, pass);
  model.remember(graph, pass);
  graph = with_caches(with_stored_types(adapted(std::move(graph), model), model), shape);
  return device ? with_matrix_operands(graph, *device) : graph;
}

namespace {

/// The hidden states [rows * positions, C] of a run, with its inputs.
Value add_run(Graph& graph, const Model& model, const GeneratorShape& shape, const RunShape& run, Pass& pass) {
  const int64_t R = shape.rows, positions = run.positions;
  pass.ids = graph.input("ids", {R, positions}, DType::i32);
  pass.position = graph.input("position", {shape.apart ? R : 1}, DType::i32);
  pass.capacity = shape.capacity;
  pass.seen = run.seen;
  if (model.recurrent) pass.texts = graph.input("texts", {R, positions}, DType::i32);
  if (shape.left_padded) {
    pass.mask = graph.input("mask", {R, shape.capacity}, DType::i32);
    pass.first_positions = graph.input("first_positions", {R}, DType::i32);
  }
  if (run.pictured > 0) pass.pictured = graph.input("pictured", {R, positions, run.pictured * width_of(model)});
  if (run.pictured > 0 && model.angles) {
    check(R == 1, "pictures of a {} model stand in one text at a time, not in {}", model.family, R);
    pass.angles = graph.input("angles", {positions, model.angle_columns});
  } else if (model.angles && !shape.left_padded) {  // pictures before count as fewer positions than they take
    pass.first_positions = graph.input("first_positions", {shape.apart ? R : 1}, DType::i32);
  }
  if (run.pictured > 0 && model.whole_pictures) {
    pass.sees = graph.input("sees", {R, positions, run.seen}, DType::i32);
    if (model.window > 0) pass.sees_in_window = graph.input("sees_in_window", {R, positions, run.seen}, DType::i32);
  }
  if (model.has_encoder()) {
    if (model.masks_sources())
      pass.source_mask = graph.input("source_mask", {shape.sources, shape.source_positions}, DType::i32);
    pass.sources = shape.sources;
    pass.source_capacity = shape.source_positions;
  }
  const Value hidden = model.hidden(graph, pass);
  return reshape(graph, hidden, {R * positions, graph.shape(hidden).columns()});
}

Graph finished(Graph graph, const Model& model, const GeneratorShape& shape, const DeviceFacts* device) {
  graph = with_caches(with_stored_types(adapted(std::move(graph), model), model), shape);
  return device ? with_matrix_operands(fused(graph, *device), *device) : graph;
}

}  // namespace

// Prompts are padded to the run's positions behind their ends: what that writes into the cache lies behind the last
// token, and is overwritten before any query sees it.
Graph build_generation(const Model& model, const GeneratorShape& shape, const RunShape& run,
                       const DeviceFacts* device) {
  Graph graph;
  Pass pass;
  Value hidden = add_run(graph, model, shape, run, pass);
  if (run.positions > 1 && !run.each) hidden = embedding(graph, hidden, graph.input("last", {shape.rows}, DType::i32));
  const Value logits = model.head(graph, pass, hidden);
  if (shape.choices > 0) {
    const bool padded = shape.usable > 0 && shape.usable < graph.shape(logits).columns();
    const auto usable = [&](Value all) { return padded ? slice(graph, all, 0, shape.usable) : all; };
    const TopK choices = top_k(graph, usable(logits), shape.choices);
    graph.mark_output(choices.values, "logits");
    graph.mark_output(choices.indices, "choices");
    if (run.positions == 1 && shape.choices > 1 && can_run_ahead(model, shape))
      graph.mark_output(draw(graph, choices.values, choices.indices, graph.input("draw", {1, 5}),
                             graph.input("draw_count", {1}, DType::i32)),
                        "drawn");
    // The host takes the others' from this one's, which is large enough for a logarithm.
    if (shape.log_probabilities)
      graph.mark_output(top_k(graph, usable(softmax(graph, logits)), 1).values, "largest_probability");
  } else {
    graph.mark_output(logits, "logits");
  }
  return finished(std::move(graph), model, shape, device);
}

bool can_run_ahead(const Model& model, const GeneratorShape& shape) {
  return shape.rows == 1 && shape.choices > 0 && !shape.log_probabilities && !shape.left_padded && !model.recurrent;
}

std::string scoring_part(const char* name, int64_t part) { return fmt::format("{} {}", name, part); }

// Rows follow one another: the logits of all would be the largest tensor of the program.
Graph build_scoring(const Model& model, const GeneratorShape& shape, const RunShape& run, const Scoring& scoring,
                    const DeviceFacts* device) {
  Graph graph;
  Pass pass;
  const Value hidden = add_run(graph, model, shape, run, pass);
  const int64_t all = graph.shape(hidden).rows();
  for (int64_t first = 0, part = 0; first < all; first += scoring_rows, ++part) {
    const int64_t count = std::min(scoring_rows, all - first);
    const auto named = [part](const char* name) { return scoring_part(name, part); };
    const Value logits = model.head(graph, pass, rows(graph, hidden, first, count));
    const int64_t V = graph.shape(logits).columns();
    if (scoring.all_logits) {
      graph.mark_output(logits, named("logits"));
      continue;
    }
    const Value own = graph.input(named("own"), {count}, DType::i32);
    graph.mark_output(embedding(graph, reshape(graph, logits, {count * V, 1}), own), named("own_logits"));
    graph.mark_output(log_sum_exp(graph, logits, own), named("log_sum_exp"));
    if (scoring.likeliest == 0) continue;
    const TopK likeliest = top_k(graph, logits, std::min(scoring.likeliest, V));
    graph.mark_output(likeliest.values, named("likeliest_logits"));
    graph.mark_output(likeliest.indices, named("likeliest"));
  }
  return finished(std::move(graph), model, shape, device);
}

std::string head_output(const CrossHead& head) { return fmt::format("weights {} {}", head.layer, head.head); }

Graph build_alignment(const Model& model, const GeneratorShape& shape, int64_t positions,
                      std::span<const CrossHead> heads, int64_t vocabulary) {
  Graph graph;
  const Pass pass{
      .ids = graph.input("ids", {1, positions}, DType::i32), .sources = 1, .source_capacity = shape.source_positions};
  const Value hidden = model.hidden(graph, pass);
  const std::vector<Node> nodes = graph.nodes();
  int64_t layer = 0;
  for (const Node& node : nodes) {
    if (!is_attention(node) || !node.scope.ends_with("cross")) continue;
    Value all;
    for (const CrossHead& head : heads) {
      if (head.layer != layer) continue;
      if (!all) {
        const Value weights = attention_weights(graph, node);
        all = reshape(graph, weights, {graph.shape(weights).rows(), graph.shape(weights).columns()});
      }
      graph.mark_output(rows(graph, all, head.head * positions, positions), head_output(head));
    }
    ++layer;
  }
  const Value logits =
      slice(graph, model.head(graph, pass, reshape(graph, hidden, {positions, graph.shape(hidden).columns()})), 0,
            vocabulary);
  const Value own = graph.input("own", {positions}, DType::i32);
  graph.mark_output(embedding(graph, reshape(graph, logits, {positions * vocabulary, 1}), own), "own_logits");
  graph.mark_output(log_sum_exp(graph, logits, own), "log_sum_exp");
  return with_caches(with_stored_types(adapted(std::move(graph), model), model), shape);
}

namespace {

// What pads a program's positions must have a place behind the present one, too.
int64_t prompt_positions(const GeneratorShape& shape, int64_t length, int64_t position) {
  constexpr int64_t fewest = 8;
  const int64_t step = shape.prompt_step;
  const auto in_steps = [step](int64_t count) { return step > 0 && count >= step; };
  const auto floor = [&](int64_t count) {
    if (in_steps(count)) return count / step * step;
    return count < fewest ? 1 : static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(count)));
  };
  const auto ceil = [&](int64_t count) {
    if (in_steps(count)) return (count + step - 1) / step * step;
    return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(count, fewest))));
  };
  const int64_t room = shape.capacity - position;
  length = std::min(length, std::max(fewest, floor(shape.run_positions / shape.rows)));
  if (length <= 1) return length;
  if (ceil(length) <= room) return ceil(length);
  return position == 0 ? room : floor(room);  // the capacity is one more length, the room behind a position any
}

}  // namespace

RunShape prompt_run(const Model& model, const GeneratorShape& shape, int64_t length, int64_t position) {
  const int64_t positions = prompt_positions(shape, length, position);
  if (!model.forms_keys || positions <= 1) return positions;
  if (position == 0) return {positions, positions};
  const auto all = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(position + positions)));
  const int64_t seen = std::min(all, shape.capacity);
  return model.forms_keys(shape.rows, positions, seen) ? RunShape{positions, seen} : RunShape{positions};
}

DType usual_cache_type(const Model& model, const DeviceFacts& device) {
  if (device.is_cpu()) return DType::f32;
  std::map<DType, int64_t> elements{{DType::f32, 0}};
  for (const ParameterSpec& parameter : model.parameters)
    elements[is_blocks(parameter.dtype) ? DType::f16 : parameter.dtype] += parameter.shape.elements();
  const DType type = std::ranges::max_element(elements, {}, [](const auto& entry) { return entry.second; })->first;
  if (type == DType::f32) return type;
  const auto whole_vectors = [](const Node& node) {
    return !is_attention(node) || (node.integer("head_width") % 8 == 0 && node.integer("value_width") % 8 == 0);
  };
  const GeneratorShape smallest{.capacity = 1, .source_positions = model.has_encoder() ? 1 : 0};
  const Graph graph = build_generation(model, smallest, 1);
  return std::ranges::all_of(graph.nodes(), whole_vectors) ? type : DType::f32;
}

GenerationPlan plan_generation(const Model& model, const GeneratorShape& asked,
                               const std::vector<ParameterBlock>& blocks, const DeviceFacts* device) {
  StoreLayout weights;
  add_model(weights, model, blocks);
  return plan_generation(model, asked, std::move(weights), device);
}

GenerationPlan plan_generation(const Model& model, const GeneratorShape& asked, StoreLayout weights,
                               const DeviceFacts* device) {
  check(model.generates(), "this {} model does not write text", model.family);
  GenerationPlan plan{.shape = asked, .layout = std::move(weights)};
  const auto limited = [](int64_t positions, int64_t most) {
    if (most == 0) return positions > 0 ? positions : usual_positions;
    return positions > 0 ? std::min(positions, most) : most;
  };
  if (asked.choices > most_top_k || (device && device->is_cpu())) plan.shape.choices = 0;
  // The rows of the largest blocks on matrix cores: whole workgroups take no others.
  if (device && !device->is_cpu()) plan.shape.prompt_step = 128;
  plan.shape.capacity = limited(asked.capacity, model.context);
  if (asked.apart) {  // each row begins with a whole vector
    check(!model.has_encoder() && !asked.left_padded && plan.shape.capacity >= 8,
          "rows apart need a decoder alone, no padding, and 8 positions");
    plan.shape.capacity -= plan.shape.capacity % 8;
  }
  plan.shape.source_positions = model.has_encoder() ? limited(asked.source_positions, model.source_limit()) : 0;
  check(asked.rows >= 1 && asked.sources >= 1 && asked.rows % asked.sources == 0,
        "{} rows can't be shared evenly by {} sources", asked.rows, asked.sources);
  if (!asked.cache_type) plan.shape.cache_type = device ? usual_cache_type(model, *device) : DType::f32;
  const int64_t weight_bytes = plan.layout.total_bytes();
  const auto add_state = [&](const Graph& graph) {
    for (Value value : graph.persistents()) {
      const ValueInfo& info = graph.info(value);
      if (is_of_rows(info) && !plan.layout.find(info.name)) {
        add_cache(plan.layout, info.name, info.type, plan.shape.apart);
        if (info.role == Role::cache) plan.caches.push_back(info.name);
        if (info.role == Role::state) plan.states.push_back(info.name);
      }
      plan.layout.require(info.name, info.type);
    }
  };
  if (model.has_encoder()) add_state(build_encoder(model, plan.shape));
  add_state(build_generation(model, plan.shape, 1));
  plan.cache_bytes = plan.layout.total_bytes() - weight_bytes;
  return plan;
}

std::set<RunShape> prompt_runs(const Model& model, const GeneratorShape& shape, std::span<const int64_t> prompts) {
  std::set<RunShape> runs;
  for (int64_t length : prompts)
    for (int64_t position = 0, end = std::min(length, shape.capacity); position < end;) {
      const RunShape run = prompt_run(model, shape, end - position, position);
      runs.insert(run);
      position += run.positions;
    }
  return runs;
}

std::vector<GenerationProgram> generation_programs(const Model& model, const GenerationPlan& plan,
                                                   std::span<const int64_t> prompts, const DeviceFacts& device,
                                                   int64_t guesses) {
  const GeneratorShape& shape = plan.shape;
  const auto in_the_middle = [&](std::string name, const RunShape& run) {
    return GenerationProgram{std::move(name), build_generation(model, shape, run, &device), shape.capacity / 2};
  };
  if (shape.apart) return {in_the_middle(fmt::format("decode of {} texts", shape.rows), 1)};
  std::vector<GenerationProgram> programs;
  if (model.has_encoder()) programs.push_back({"encoder", build_encoder(model, shape, &device)});
  for (const RunShape& run : prompt_runs(model, shape, prompts))
    if (run.positions > 1) {
      const int64_t before = std::max<int64_t>(run.seen - run.positions, 0);
      programs.push_back(
          {fmt::format("prefill of {}{}", run.positions, before > 0 ? fmt::format(" behind {}", before) : ""),
           build_generation(model, shape, run, &device), before});
    }
  programs.push_back(in_the_middle("decode", 1));
  if (guesses > 0 && !model.has_encoder() && !model.recurrent)
    for (int64_t positions = 2; positions < 2 * (guesses + 1) && positions <= shape.capacity; positions *= 2)
      programs.push_back(in_the_middle(fmt::format("check of {}", positions), {positions, 0, true}));
  return programs;
}

}  // namespace vkformer
