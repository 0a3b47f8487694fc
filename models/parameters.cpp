#include "models/parameters.h"

#include <algorithm>
#include <map>

#include "runtime/all_cores.h"
#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

std::string block_name(std::string_view what, size_t i) { return fmt::format("{}.{}", what, i); }

namespace {

/// The last parameter of each joint tensor.
std::map<std::string_view, size_t> last_parts(const std::vector<ParameterSpec>& parameters) {
  std::map<std::string_view, size_t> last;
  for (size_t i = 0; i < parameters.size(); ++i)
    if (!parameters[i].joint.empty()) last[parameters[i].joint] = i;
  return last;
}

/// The end of the shortest run of parameters from `begin` on that splits no joint tensor.
size_t end_of_run(const std::vector<ParameterSpec>& parameters, const std::map<std::string_view, size_t>& last_parts,
                  size_t begin) {
  size_t end = begin + 1;
  for (size_t i = begin; i < end; ++i)
    if (const auto last = last_parts.find(parameters[i].joint); last != last_parts.end())
      end = std::max(end, last->second + 1);
  return end;
}

}  // namespace

std::vector<ParameterBlock> parameter_blocks(const std::vector<ParameterSpec>& parameters, uint64_t max_allocation,
                                             const std::vector<bool>& resting) {
  std::vector<ParameterBlock> blocks;
  const std::map<std::string_view, size_t> last = last_parts(parameters);
  for (const auto& [trained, in_host] : {std::pair(true, false), {true, true}, {false, false}, {false, true}}) {
    int64_t bytes = 0;
    for (size_t begin = 0, end = 0; begin < parameters.size(); begin = end) {
      end = end_of_run(parameters, last, begin);
      int64_t size = 0;
      std::vector<const ParameterSpec*> run;
      for (size_t i = begin; i < end; ++i) {
        if (trained == (!resting.empty() && resting[i]) || in_host != parameters[i].in_host) continue;
        size += align_part(parameters[i].stored().bytes());
        run.push_back(&parameters[i]);
      }
      if (run.empty()) continue;
      check(static_cast<uint64_t>(size) <= max_allocation,
            "{} needs {} MiB, one allocation of the device may have {} MiB; use a smaller model", run[0]->name,
            size >> 20, max_allocation >> 20);
      if (bytes == 0 || static_cast<uint64_t>(bytes + size) > max_allocation) {
        blocks.push_back({.parameters = {}, .trained = trained, .in_host = in_host});
        bytes = 0;
      }
      bytes += size;
      blocks.back().parameters.insert(blocks.back().parameters.end(), run.begin(), run.end());
    }
  }
  for (ParameterBlock& block : blocks) {
    std::stable_partition(block.parameters.begin(), block.parameters.end(),
                          [](const ParameterSpec* p) { return p->decayed(); });
    for (size_t i = 0; i < block.parameters.size() && block.parameters[i]->decayed(); ++i) {
      block.decayed_elements += block.parameters[i]->shape.elements();
      if (!block.joins_next(i)) block.decayed_elements = align_part(block.decayed_elements * 4) / 4;
    }
  }
  return blocks;
}

namespace {

void add_joint_views(StoreLayout& layout, const ParameterBlock& block) {
  for (size_t i = 0; i < block.parameters.size(); ++i) {
    const ParameterSpec& first = *block.parameters[i];
    if (first.joint.empty() || first.apart) continue;
    std::vector<int64_t> dimensions(first.shape.dimensions().begin(), first.shape.dimensions().end());
    for (; block.joins_next(i); ++i) dimensions[0] += block.parameters[i + 1]->shape[0];
    layout.add_view(first.joint, {Shape(dimensions), first.dtype}, first.name);
  }
}

}  // namespace

void add_parameter_blocks(StoreLayout& layout, std::string_view what, const std::vector<ParameterBlock>& blocks,
                          BlockMemory states) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool parameters = what == "parameters";
    if (!parameters && !blocks[i].trained) continue;
    std::vector<StoreLayout::Part> parts;
    for (size_t k = 0; k < blocks[i].parameters.size(); ++k) {
      const ParameterSpec& parameter = *blocks[i].parameters[k];
      parts.push_back({parameters ? parameter.name : fmt::format("{}/{}", what, parameter.name),
                       parameters ? parameter.stored() : TensorType{parameter.shape, parameter.dtype},
                       blocks[i].joins_next(k)});
    }
    const BlockMemory of_parameters = blocks[i].in_host ? BlockMemory::host : BlockMemory::weights;
    layout.add_block(block_name(what, i), parts, parameters ? of_parameters : states);
    if (parameters) add_joint_views(layout, blocks[i]);
  }
}

void add_model(StoreLayout& layout, const Model& model, const std::vector<ParameterBlock>& blocks) {
  add_parameter_blocks(layout, "parameters", blocks);
  std::vector<StoreLayout::Part> constants;
  for (const ConstantSpec& constant : model.constants) constants.push_back({constant.name, constant.type});
  if (!constants.empty()) layout.add_block("constants", constants);
}

void write_constants(Store& store, const Model& model) {
  for (const ConstantSpec& constant : model.constants) {
    const std::vector<float> values = constant.values();
    if (constant.type.dtype == DType::i32)
      store.write(constant.name, std::vector<int32_t>(values.begin(), values.end()));
    else
      store.write(constant.name, values);
  }
}

std::shared_ptr<Store> make_model_store(Backend& backend, const Model& model) {
  StoreLayout layout;
  add_model(layout, model, parameter_blocks(model.parameters, backend.facts().max_allocation));
  auto store = backend.make_store(layout);
  write_constants(*store, model);
  return store;
}

std::vector<float> start_values(const ParameterSpec& parameter, uint32_t seed) {
  if (parameter.start == ParameterSpec::Start::computed) return parameter.computed();
  uint32_t stream = 2166136261u;  // FNV-1a of the name
  for (char letter : parameter.name) stream = (stream ^ static_cast<uint8_t>(letter)) * 16777619u;
  const auto start = [&]() -> double {
    if (parameter.start == ParameterSpec::Start::constant) return parameter.deviation;
    return parameter.start == ParameterSpec::Start::ones ? 1 : 0;
  };
  std::vector<float> values(static_cast<size_t>(parameter.shape.elements()), static_cast<float>(start()));
  const bool is_normal = parameter.start == ParameterSpec::Start::normal;
  if (!is_normal && parameter.start != ParameterSpec::Start::uniform) return values;
  constexpr size_t piece = 1 << 16;
  on_all_cores(static_cast<int64_t>((values.size() + piece - 1) / piece), [&](int64_t n) {
    const size_t begin = static_cast<size_t>(n) * piece, end = std::min(begin + piece, values.size());
    for (size_t i = begin; i < end; ++i) {
      const double drawn = is_normal ? normal(seed, stream, i) : 2 * uniform(seed, stream, i) - 1;
      values[i] = static_cast<float>(parameter.deviation * drawn);
    }
  });
  return values;
}

std::vector<float> turned(std::span<const float> values, int64_t rows) {
  const auto height = static_cast<size_t>(rows), width = values.size() / height;
  std::vector<float> result(values.size());
  for (size_t row = 0; row < height; ++row)
    for (size_t column = 0; column < width; ++column) result[column * height + row] = values[row * width + column];
  return result;
}

void initialize(Store& store, const std::vector<ParameterSpec>& parameters, uint32_t seed) {
  for (const ParameterSpec& parameter : parameters) {
    const std::vector<float> values = start_values(parameter, seed);
    store.write(parameter.name, parameter.turned ? turned(values, parameter.shape[0]) : values);
  }
}

}  // namespace vkformer
