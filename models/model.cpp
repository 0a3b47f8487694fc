#include "models/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/gpt2/gpt2.h"
#include "models/llama/llama.h"
#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

int64_t Model::parameter_count() const {
  return std::accumulate(parameters.begin(), parameters.end(), int64_t{0},
                         [](int64_t sum, const ParameterSpec& p) { return sum + p.shape.elements(); });
}

Model make_model(const JsonObject& config) {
  const std::string type = require_string(config, "model_type");
  if (type == "gpt2") return make_gpt2(Gpt2Config::from_json(config));
  if (type == "llama") return make_llama(LlamaConfig::from_json(config));
  fail("{}: model_type '{}' is not supported; vkformer runs: gpt2, llama", config.name(), type);
}

std::string block_name(std::string_view what, size_t i) { return fmt::format("{}.{}", what, i); }

std::vector<ParameterBlock> parameter_blocks(const std::vector<ParameterSpec>& parameters, uint64_t max_allocation) {
  std::vector<ParameterBlock> blocks;
  int64_t bytes = 0;
  for (const ParameterSpec& parameter : parameters) {
    const int64_t size = align_part(parameter.shape.elements() * size_of(DType::f32));
    check(static_cast<uint64_t>(size) <= max_allocation,
          "{} needs {} MiB, one allocation of the device may have {} MiB; use a smaller model", parameter.name,
          size >> 20, max_allocation >> 20);
    if (blocks.empty() || static_cast<uint64_t>(bytes + size) > max_allocation) {
      blocks.emplace_back();
      bytes = 0;
    }
    bytes += size;
    blocks.back().parameters.push_back(&parameter);
  }
  for (ParameterBlock& block : blocks) {
    std::stable_partition(block.parameters.begin(), block.parameters.end(),
                          [](const ParameterSpec* p) { return p->decayed(); });
    for (const ParameterSpec* parameter : block.parameters)
      if (parameter->decayed()) block.decayed_elements += align_part(parameter->shape.elements() * 4) / 4;
  }
  return blocks;
}

void add_parameter_blocks(StoreLayout& layout, std::string_view what, const std::vector<ParameterBlock>& blocks) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    std::vector<StoreLayout::Part> parts;
    for (const ParameterSpec* parameter : blocks[i].parameters)
      parts.push_back({what == "parameters" ? parameter->name : fmt::format("{}/{}", what, parameter->name),
                       {parameter->shape, DType::f32}});
    layout.add_block(block_name(what, i), parts);
  }
}

void add_model(StoreLayout& layout, const Model& model, const std::vector<ParameterBlock>& blocks) {
  add_parameter_blocks(layout, "parameters", blocks);
  std::vector<StoreLayout::Part> constants;
  for (const ConstantSpec& constant : model.constants)
    constants.push_back({constant.name, {constant.shape, DType::f32}});
  if (!constants.empty()) layout.add_block("constants", constants);
}

void write_constants(Store& store, const Model& model) {
  for (const ConstantSpec& constant : model.constants) store.write(constant.name, constant.values());
}

void initialize(Store& store, const std::vector<ParameterSpec>& parameters, uint32_t seed) {
  for (const ParameterSpec& parameter : parameters) {
    uint32_t stream = 2166136261u;  // FNV-1a of the name
    for (char letter : parameter.name) stream = (stream ^ static_cast<uint8_t>(letter)) * 16777619u;
    std::vector<float> values(static_cast<size_t>(parameter.shape.elements()),
                              parameter.start == ParameterSpec::Start::ones ? 1.0f : 0.0f);
    if (parameter.start == ParameterSpec::Start::normal)
      for (size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<float>(parameter.deviation * normal(seed, stream, i));
    store.write(parameter.name, values);
  }
}

}  // namespace vkformer
