#include "models/model.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/bert/bert.h"
#include "models/encoder_decoder/encoder_decoder.h"
#include "models/gpt2/gpt2.h"
#include "models/gpt_neox/gpt_neox.h"
#include "models/llama/llama.h"
#include "models/t5/t5.h"
#include "models/xlnet/xlnet.h"
#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

int64_t Model::parameter_count() const {
  return std::accumulate(parameters.begin(), parameters.end(), int64_t{0},
                         [](int64_t sum, const ParameterSpec& p) { return sum + p.shape.elements(); });
}

namespace {

struct Family {
  std::vector<std::string_view> types;  ///< model_type values
  Model (*make)(const JsonObject& config);
};

const Family families[] = {
    {{"gpt2"}, [](const JsonObject& config) { return make_gpt2(Gpt2Config::from_json(config)); }},
    {{"gpt_neox"}, [](const JsonObject& config) { return make_gpt_neox(GptNeoxConfig::from_json(config)); }},
    {{"llama", "mistral", "qwen2"},
     [](const JsonObject& config) { return make_llama(LlamaConfig::from_json(config)); }},
    {{"bert", "roberta", "distilbert"},
     [](const JsonObject& config) { return make_bert(BertConfig::from_json(config)); }},
    {{"vaswani", "marian", "bart"},
     [](const JsonObject& config) { return make_encoder_decoder(EncoderDecoderConfig::from_json(config)); }},
    {{"t5"}, [](const JsonObject& config) { return make_t5(T5Config::from_json(config)); }},
    {{"xlnet"}, [](const JsonObject& config) { return make_xlnet(XlnetConfig::from_json(config)); }},
};

/// What the file says beside what the model knows (special ids, names of classes) is kept for the file that is written.
Model with_config(Model model, const JsonObject& config) {
  nlohmann::json merged = config.value();
  merged.update(*model.config);
  merged.erase("dtype");  // the newer name of torch_dtype
  model.config = std::make_shared<const nlohmann::json>(std::move(merged));
  return model;
}

/// What no device can hold is refused here, so that nothing behind computes with sizes near 2^63.
Model of_some_size(Model model, const JsonObject& config) {
  constexpr int64_t most = int64_t{1} << 42;
  int64_t rest = most;
  const auto take = [&](const Shape& shape) {
    check(shape.elements() <= rest, "{}: its sizes make a model of more than 2^42 parameters and constants",
          config.name());
    rest -= shape.elements();
  };
  for (const ParameterSpec& parameter : model.parameters) take(parameter.shape);
  for (const ConstantSpec& constant : model.constants) take(constant.type.shape);
  return model;
}

}  // namespace

Model make_model(const JsonObject& config) {
  const std::string type = require_string(config, "model_type");
  for (const Family& family : families)
    if (std::find(family.types.begin(), family.types.end(), type) != family.types.end())
      return with_config(of_some_size(family.make(config), config), config);
  std::string known;
  for (const Family& family : families)
    for (std::string_view name : family.types) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  fail("{}: model_type '{}' is not supported; vkformer runs: {}", config.name(), type, known);
}

void check_feed(const Model& model, const BatchShape& shape, const Feed& feed) {
  const auto values_of = [&](std::string_view input) {
    const auto found = std::find_if(feed.begin(), feed.end(), [&](const auto& entry) { return entry.first == input; });
    return found == feed.end() ? std::span<const int32_t>() : found->second;
  };
  const auto check_below = [&](std::string_view input, const char* what, int64_t limit) {
    for (int32_t value : values_of(input))
      check(value >= 0 && value < limit, "{} holds {}; the model has {} {}", input, value, limit, what);
  };
  check_below("ids", "ids", model.vocabulary);
  check_below("source", "ids", model.vocabulary);
  check_below("segments", "token types", model.segments);
  if (model.padding < 0) return;
  const auto ids = values_of("ids"), mask = values_of("mask");
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != model.padding) continue;
    const bool last = (i + 1) % static_cast<size_t>(shape.positions) == 0;
    check(i < mask.size() && mask[i] == 0 && (last || ids[i + 1] == model.padding),
          "row {} has its padding id {} at position {}, where it is not masked or a token follows; {} counts positions "
          "over its tokens, so padding must be masked and behind them",
          i / static_cast<size_t>(shape.positions), model.padding, i % static_cast<size_t>(shape.positions),
          model.family);
  }
}

void write_feed(Program& program, const Feed& feed) {
  for (const auto& [name, values] : feed) program.write(std::string(name), values);
}

Pass add_inputs(Graph& graph, const Model& model, const BatchShape& shape) {
  const int64_t B = shape.rows, T = shape.positions, S = shape.source_positions;
  check(B >= 1 && T >= 1 && S >= 0, "a batch of {} x {} positions was asked for; both must be at least 1", B, T);
  check(model.context == 0 || std::max(T, S) <= model.context,
        "a context of {} positions was asked for; the model has {}", std::max(T, S), model.context);
  check(model.has_encoder() == (S > 0), "{} has {} encoder, but the batch has {} source positions", model.family,
        model.has_encoder() ? "an" : "no", S);
  const auto integers = [&](const char* name, const Shape& dimensions) {
    return graph.input(name, dimensions, DType::i32);
  };
  Pass pass{.ids = integers("ids", {B, T})};
  if (S > 0) pass.source = integers("source", {B, S});
  if (shape.predictions > 0) {
    pass.mask = integers("mask", {B, T, T});
    pass.query_mask = integers("query_mask", {B, T, T});
    pass.predicted = integers("predicted", {B, shape.predictions});
  } else if (shape.mask) {
    (S > 0 ? pass.source_mask : pass.mask) = S > 0 ? integers("source_mask", {B, S}) : integers("mask", {B, T});
  }
  check(!shape.segments || model.segments > 0, "{} has no token types, but the batch has segments", model.family);
  if (shape.segments) pass.segments = integers("segments", {B, T});
  return pass;
}

Value add_logits(Graph& graph, const Model& model, Pass pass) {
  if (model.has_encoder()) pass.memory = model.encode(graph, pass);
  return model.head(graph, pass, model.hidden(graph, pass));
}

std::string block_name(std::string_view what, size_t i) { return fmt::format("{}.{}", what, i); }

namespace {

/// The end of the shortest run of parameters from `begin` on that splits no joint tensor.
size_t end_of_run(const std::vector<ParameterSpec>& parameters, size_t begin) {
  size_t end = begin + 1;
  for (size_t i = begin; i < end; ++i)
    for (size_t k = end; k < parameters.size() && !parameters[i].joint.empty(); ++k)
      if (parameters[k].joint == parameters[i].joint) end = k + 1;
  return end;
}

}  // namespace

std::vector<ParameterBlock> parameter_blocks(const std::vector<ParameterSpec>& parameters, uint64_t max_allocation,
                                             const std::vector<bool>& resting) {
  std::vector<ParameterBlock> blocks;
  for (const bool trained : {true, false}) {
    int64_t bytes = 0;
    for (size_t begin = 0, end = 0; begin < parameters.size(); begin = end) {
      end = end_of_run(parameters, begin);
      int64_t size = 0;
      std::vector<const ParameterSpec*> run;
      for (size_t i = begin; i < end; ++i) {
        if (trained == (!resting.empty() && resting[i])) continue;
        size += align_part(TensorType{parameters[i].shape, parameters[i].dtype}.bytes());
        run.push_back(&parameters[i]);
      }
      if (run.empty()) continue;
      check(static_cast<uint64_t>(size) <= max_allocation,
            "{} needs {} MiB, one allocation of the device may have {} MiB; use a smaller model", run[0]->name,
            size >> 20, max_allocation >> 20);
      if (bytes == 0 || static_cast<uint64_t>(bytes + size) > max_allocation) {
        blocks.push_back({.parameters = {}, .trained = trained});
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
    if (first.joint.empty()) continue;
    std::vector<int64_t> dimensions(first.shape.dimensions().begin(), first.shape.dimensions().end());
    for (; block.joins_next(i); ++i) dimensions[0] += block.parameters[i + 1]->shape[0];
    layout.add_view(first.joint, {Shape(dimensions), first.dtype}, first.name);
  }
}

}  // namespace

void add_parameter_blocks(StoreLayout& layout, std::string_view what, const std::vector<ParameterBlock>& blocks) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool parameters = what == "parameters";
    if (!parameters && !blocks[i].trained) continue;
    std::vector<StoreLayout::Part> parts;
    for (size_t k = 0; k < blocks[i].parameters.size(); ++k) {
      const ParameterSpec& parameter = *blocks[i].parameters[k];
      parts.push_back({parameters ? parameter.name : fmt::format("{}/{}", what, parameter.name),
                       {parameter.shape, parameter.dtype},
                       blocks[i].joins_next(k)});
    }
    layout.add_block(block_name(what, i), parts);
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

std::vector<float> start_values(const ParameterSpec& parameter, uint32_t seed) {
  uint32_t stream = 2166136261u;  // FNV-1a of the name
  for (char letter : parameter.name) stream = (stream ^ static_cast<uint8_t>(letter)) * 16777619u;
  const auto start = [&]() -> double {
    if (parameter.start == ParameterSpec::Start::constant) return parameter.deviation;
    return parameter.start == ParameterSpec::Start::ones ? 1 : 0;
  };
  std::vector<float> values(static_cast<size_t>(parameter.shape.elements()), static_cast<float>(start()));
  if (parameter.start == ParameterSpec::Start::normal)
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(parameter.deviation * normal(seed, stream, i));
  return values;
}

void initialize(Store& store, const std::vector<ParameterSpec>& parameters, uint32_t seed) {
  for (const ParameterSpec& parameter : parameters) store.write(parameter.name, start_values(parameter, seed));
}

}  // namespace vkformer
