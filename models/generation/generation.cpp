#include "models/generation/generation.h"

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
#include "shaders/cache_reorder/cache_reorder.h"
#include "shaders/embedding/embedding.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"
#include "shaders/softmax/softmax.h"
#include "shaders/top_k/top_k.h"

namespace vkformer {

namespace {

bool is_cache(const ValueInfo& info) { return info.role == Role::cache || info.role == Role::memory; }

std::string row_of(const std::string& cache, int64_t row) { return fmt::format("{}, row {}", cache, row); }

/// With caches of the shape's type, and in its row.
Graph with_caches(Graph graph, const GeneratorShape& shape) {
  const DType type = shape.cache_type.value_or(DType::f32);
  if (type == DType::f32 && shape.cache_row < 0) return graph;
  const auto type_of = [type](const ValueInfo& info) {
    return is_cache(info) ? TensorType{info.type.shape, type} : info.type;
  };
  const auto name_of = [&](const ValueInfo& info) {
    return is_cache(info) && shape.cache_row >= 0 ? row_of(info.name, shape.cache_row) : info.name;
  };
  return rewrite(graph, {.type_of = type_of, .name_of = name_of}).graph;
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
  const Shape ids{shape.sources, shape.source_positions};
  Pass pass{.source = graph.input("source", ids, DType::i32)};
  pass.source_mask = graph.input("source_mask", ids, DType::i32);
  pass.position = graph.input("position", {1}, DType::i32);
  pass.memory = model.encode(graph, pass);
  model.remember(graph, pass);
  graph = with_caches(with_stored_types(adapted(std::move(graph), model), model), shape);
  return device ? with_matrix_operands(graph, *device) : graph;
}

namespace {

Graph build_reorder(const StoreLayout& layout, const std::vector<std::string>& caches, int64_t rows) {
  Graph graph;
  const Value parents = graph.input("parents", {rows}, DType::i32);
  const Value count = graph.input("count", {1}, DType::i32);
  for (const std::string& name : caches) {
    const TensorType& type = layout.find(name)->type;
    cache_reorder(graph, graph.persistent(name, type.shape, Role::cache, type.dtype), parents, count);
  }
  return graph;
}

}  // namespace

// Prompts are padded to `positions` behind their ends: what that writes into the cache lies behind the last token, and
// is overwritten before any query sees it.
Graph build_generation(const Model& model, const GeneratorShape& shape, int64_t positions, const DeviceFacts* device) {
  const int64_t R = shape.rows;
  Graph graph;
  Pass pass{.ids = graph.input("ids", {R, positions}, DType::i32)};
  pass.position = graph.input("position", {shape.apart ? R : 1}, DType::i32);
  pass.capacity = shape.capacity;
  if (shape.left_padded) {
    pass.mask = graph.input("mask", {R, shape.capacity}, DType::i32);
    pass.first_positions = graph.input("first_positions", {R}, DType::i32);
  }
  if (model.has_encoder()) {
    pass.source_mask = graph.input("source_mask", {shape.sources, shape.source_positions}, DType::i32);
    pass.sources = shape.sources;
    pass.source_capacity = shape.source_positions;
  }
  Value hidden = model.hidden(graph, pass);
  hidden = reshape(graph, hidden, {R * positions, graph.shape(hidden).columns()});
  if (positions > 1) hidden = embedding(graph, hidden, graph.input("last", {R}, DType::i32));
  const Value logits = model.head(graph, pass, hidden);
  if (shape.choices > 0) {
    const bool padded = shape.usable > 0 && shape.usable < graph.shape(logits).columns();
    const auto usable = [&](Value all) { return padded ? slice(graph, all, 0, shape.usable) : all; };
    const TopK choices = top_k(graph, usable(logits), shape.choices);
    graph.mark_output(choices.values, "logits");
    graph.mark_output(choices.indices, "choices");
    // The host takes the others' from this one's, which is large enough for a logarithm.
    if (shape.log_probabilities)
      graph.mark_output(top_k(graph, usable(softmax(graph, logits)), 1).values, "largest_probability");
  } else {
    graph.mark_output(logits, "logits");
  }
  graph = with_caches(with_stored_types(adapted(std::move(graph), model), model), shape);
  return device ? with_matrix_operands(fused(graph, *device), *device) : graph;
}

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
  const auto limited = [&](int64_t positions) {
    if (model.context == 0) return positions > 0 ? positions : usual_positions;
    return positions > 0 ? std::min(positions, model.context) : model.context;
  };
  if (asked.choices > most_top_k || (device && device->is_cpu())) plan.shape.choices = 0;
  // The rows of the largest blocks on matrix cores: whole workgroups take no others.
  if (device && !device->is_cpu()) plan.shape.prompt_step = 128;
  plan.shape.capacity = limited(asked.capacity);
  if (asked.apart) {  // each row begins with a whole vector
    check(!model.has_encoder() && !asked.left_padded && plan.shape.capacity >= 8,
          "rows apart need a decoder alone, no padding, and 8 positions");
    plan.shape.capacity -= plan.shape.capacity % 8;
  }
  plan.shape.source_positions = model.has_encoder() ? limited(asked.source_positions) : 0;
  check(asked.rows >= 1 && asked.sources >= 1 && asked.rows % asked.sources == 0,
        "{} rows can't be shared evenly by {} sources", asked.rows, asked.sources);
  if (!asked.cache_type) plan.shape.cache_type = device ? usual_cache_type(model, *device) : DType::f32;
  const int64_t weight_bytes = plan.layout.total_bytes();
  const auto add_state = [&](const Graph& graph) {
    for (Value value : graph.persistents()) {
      const ValueInfo& info = graph.info(value);
      if (is_cache(info) && !plan.layout.find(info.name)) {
        add_cache(plan.layout, info.name, info.type, plan.shape.apart);
        if (info.role == Role::cache) plan.caches.push_back(info.name);
      }
      plan.layout.require(info.name, info.type);
    }
  };
  if (model.has_encoder()) add_state(build_encoder(model, plan.shape));
  add_state(build_generation(model, plan.shape, 1));
  plan.cache_bytes = plan.layout.total_bytes() - weight_bytes;
  return plan;
}

namespace {

/// Positions of the programs that prompts of these lengths run through.
std::set<int64_t> prompt_programs(const GeneratorShape& shape, std::span<const int64_t> prompts) {
  std::set<int64_t> lengths;
  for (int64_t length : prompts)
    for (int64_t position = 0, end = std::min(length, shape.capacity); position < end;) {
      const int64_t positions = prompt_positions(shape, end - position, position);
      lengths.insert(positions);
      position += positions;
    }
  return lengths;
}

}  // namespace

std::vector<GenerationProgram> generation_programs(const Model& model, const GenerationPlan& plan,
                                                   std::span<const int64_t> prompts, const DeviceFacts& device) {
  const GeneratorShape& shape = plan.shape;
  std::vector<GenerationProgram> programs;
  if (model.has_encoder()) programs.push_back({"encoder", build_encoder(model, shape, &device)});
  for (int64_t length : prompt_programs(shape, prompts))
    if (length > 1)
      programs.push_back({fmt::format("prefill of {}", length), build_generation(model, shape, length, &device)});
  programs.push_back({"decode", build_generation(model, shape, 1, &device), shape.capacity / 2});
  return programs;
}

Generator::Generator(Backend& backend, const Model& model, const GeneratorShape& shape)
    : Generator(backend, model, make_model_store(backend, model), shape) {}

Generator::Generator(Backend& backend, const Model& model, std::shared_ptr<Store> weights, const GeneratorShape& shape,
                     std::shared_ptr<Workspace> workspace)
    : backend_(backend), model_(model) {
  GenerationPlan plan = plan_generation(model, shape, weights->layout(), &backend.facts());
  shape_ = plan.shape;
  caches_ = std::move(plan.caches);
  store_ = backend.extend_store(std::move(weights), plan.layout);
  workspace_ = workspace ? std::move(workspace) : backend.make_workspace();
}

void Generator::prepare(int64_t prompt) {
  if (model_.has_encoder()) encoder();
  // The largest first: the workspace need not grow.
  for (int64_t positions : prompt_programs(shape_, std::span(&prompt, 1)) | std::views::reverse) program_of(positions);
  if (prompt + 1 < shape_.capacity) program_of(1);  // the prompt's own logits give one more token
}

Program& Generator::encoder() {
  if (!encoder_) encoder_ = backend_.compile(build_encoder(model_, shape_, &backend_.facts()), store_, {}, workspace_);
  return *encoder_;
}

Program& Generator::program_of(int64_t positions) {
  auto& program = positions == 1 ? decode_[all_logits_] : prefills_[all_logits_][positions];
  if (!program) {
    GeneratorShape shape = shape_;
    if (all_logits_) shape.choices = 0;
    program = backend_.compile(build_generation(model_, shape, positions, &backend_.facts()), store_, {}, workspace_);
  }
  return *program;
}

void Generator::encode(std::span<const int32_t> source, std::span<const int32_t> mask) {
  check(model_.has_encoder(), "{} has no encoder", model_.family);
  const auto rows = static_cast<size_t>(shape_.sources), most = static_cast<size_t>(shape_.source_positions);
  check(!source.empty() && source.size() % rows == 0, "{} ids don't make {} sources of one length", source.size(),
        rows);
  const size_t length = source.size() / rows;
  check(length <= most, "the source has {} tokens, the encoder only {} positions; shorten it", length, most);
  check(mask.empty() || mask.size() == source.size(), "the mask of the source has {} entries, the source {}",
        mask.size(), source.size());
  check_tokens(source);
  std::vector<int32_t> ids(rows * most, 0);
  source_mask_.assign(rows * most, 0);
  for (size_t r = 0; r < rows; ++r)
    for (size_t i = 0; i < length; ++i) {
      ids[r * most + i] = source[r * length + i];
      source_mask_[r * most + i] = mask.empty() || mask[r * length + i] != 0;
    }
  write_feed(encoder(), {{"source", ids}, {"source_mask", source_mask_}, {"position", std::vector<int32_t>{0}}});
  encoder_->run();
}

void Generator::check_tokens(std::span<const int32_t> tokens) const {
  for (int32_t token : tokens)
    check(token >= 0 && token < model_.vocabulary, "token {} is outside the vocabulary of {}", token,
          model_.vocabulary);
}

std::vector<float> Generator::run(Program& program, std::span<const int32_t> tokens) {
  check_tokens(tokens);
  const auto rows = static_cast<size_t>(shape_.rows);
  const auto length = static_cast<int64_t>(tokens.size() / rows);
  check(position_ + length <= shape_.capacity, "{} positions are taken, {} more don't fit into the context of {}",
        position_, length, shape_.capacity);
  const int64_t positions = program.graph().shape(program.graph().find("ids"))[1];
  std::vector<int32_t> ids(rows * static_cast<size_t>(positions), 0), last, first;
  for (size_t r = 0; r < rows; ++r) {
    for (size_t i = 0; i < static_cast<size_t>(length); ++i)
      ids[r * static_cast<size_t>(positions) + i] = tokens[r * static_cast<size_t>(length) + i];
    last.push_back(static_cast<int32_t>(static_cast<int64_t>(r) * positions + length - 1));
    if (shape_.left_padded) first.push_back(static_cast<int32_t>(position_) - pads_[r]);
  }
  write_feed(program, {{"ids", ids}, {"position", std::vector<int32_t>{static_cast<int32_t>(position_)}}});
  if (positions > 1) program.write("last", last);
  if (shape_.left_padded) write_feed(program, {{"mask", mask_}, {"first_positions", first}});
  if (model_.has_encoder()) {
    check(!source_mask_.empty(), "there is no source yet; call encode() before the decoder");
    program.write("source_mask", source_mask_);
  }
  program.run();
  position_ += length;
  std::vector<float> logits = program.read("logits");
  choices_.clear();
  if (shape_.choices == 0 || all_logits_) return logits;
  choices_ = program.read_ints("choices");
  if (!shape_.log_probabilities) return logits;
  const std::vector<float> largest = program.read("largest_probability");
  const auto count = static_cast<size_t>(shape_.choices);
  for (size_t r = 0; r < rows; ++r) {
    const double log_sum = static_cast<double>(logits[r * count]) - std::log(static_cast<double>(largest[r]));
    for (float& logit : std::span(logits).subspan(r * count, count))
      logit = static_cast<float>(static_cast<double>(logit) - log_sum);
  }
  return logits;
}

std::vector<float> Generator::prefill(std::span<const int32_t> prompts, std::span<const int32_t> pads) {
  const auto rows = static_cast<size_t>(shape_.rows), capacity = static_cast<size_t>(shape_.capacity);
  check(!prompts.empty(), "the prompt is empty; give at least one token");
  check(prompts.size() % rows == 0, "{} ids don't make {} prompts of one length", prompts.size(), rows);
  const size_t length = prompts.size() / rows;
  check(length <= capacity, "the prompt has {} tokens, the context only {}; shorten it", length, capacity);
  check(pads.empty() || (shape_.left_padded && pads.size() == rows), "{} paddings were given for {} rows", pads.size(),
        shape_.left_padded ? rows : 0);
  pads_.assign(pads.begin(), pads.end());
  pads_.resize(rows, 0);
  mask_.assign(shape_.left_padded ? rows * capacity : 0, 1);
  for (size_t r = 0; r < rows; ++r) {
    check(pads_[r] >= 0 && static_cast<size_t>(pads_[r]) < length, "row {} has {} paddings in {} positions", r,
          pads_[r], length);
    if (shape_.left_padded) std::fill_n(mask_.begin() + static_cast<std::ptrdiff_t>(r * capacity), pads_[r], 0);
  }
  position_ = 0;
  return run_prompts(prompts);
}

std::vector<float> Generator::append(std::span<const int32_t> tokens) {
  check(shape_.rows == 1 && !shape_.left_padded, "tokens are appended to one row, not to {}", shape_.rows);
  check(!tokens.empty(), "there is no token to append");
  check(position_ + std::ssize(tokens) <= shape_.capacity,
        "{} positions are taken, {} more don't fit into the context of {}", position_, tokens.size(), shape_.capacity);
  return run_prompts(tokens);
}

std::vector<float> Generator::run_prompts(std::span<const int32_t> tokens) {
  const auto rows = static_cast<size_t>(shape_.rows);
  const size_t length = tokens.size() / rows;
  std::vector<float> logits;
  for (size_t done = 0; done < length;) {
    const int64_t positions = prompt_positions(shape_, static_cast<int64_t>(length - done), position_);
    const size_t count = std::min(length - done, static_cast<size_t>(positions));
    std::vector<int32_t> part;
    for (size_t r = 0; r < rows; ++r) {
      const auto row = tokens.subspan(r * length + done, count);
      part.insert(part.end(), row.begin(), row.end());
    }
    Program& program = program_of(positions);
    last_prefill_ = &program;
    logits = run(program, part);
    done += count;
  }
  return logits;
}

void Generator::rewind(int64_t position) {
  check(position >= 0 && position <= position_, "{} positions are taken; it can't go back to {}", position_, position);
  position_ = position;
}

std::vector<float> Generator::decode(std::span<const int32_t> tokens) {
  check(tokens.size() == static_cast<size_t>(shape_.rows), "{} tokens were given for {} rows", tokens.size(),
        shape_.rows);
  return run(program_of(1), tokens);
}

void Generator::reorder(std::span<const int32_t> parents) {
  if (!reorder_)
    reorder_ = backend_.compile(build_reorder(store_->layout(), caches_, shape_.rows), store_, {}, workspace_);
  write_feed(*reorder_, {{"parents", parents}, {"count", std::vector<int32_t>{static_cast<int32_t>(position_)}}});
  reorder_->run();
  // Beams of one prompt have the same padding, so `pads_` and `mask_` stay.
}

}  // namespace vkformer
