#include "runtime/conform/case_graph.h"

#include <cmath>
#include <random>

#include "runtime/autodiff.h"
#include "runtime/encoding/encoding.h"
#include "runtime/half.h"

namespace vkformer {

namespace {

bool names_type(DType dtype) { return is_half(dtype) || is_blocks(dtype); }

/// Rounds the tensor's values to blocks of its type. Groups of sixteen are scaled first, since in blocks of equals
/// every scale would be near its largest.
void encode_tensor(HostTensor& tensor, std::mt19937_64& generator) {
  std::vector<float> values(tensor.data.begin(), tensor.data.end());
  for (size_t i = 0; i < values.size(); i += 16) {
    const auto factor = std::ldexp(1.0f, -static_cast<int>(generator() % 6));
    for (size_t j = i; j < i + 16; ++j) values[j] *= factor;
  }
  tensor.blocks.resize(static_cast<size_t>(encoded_bytes(tensor.type.dtype, tensor.type.elements())));
  encode(tensor.type.dtype, values, tensor.blocks);
  decode(tensor.type.dtype, tensor.blocks, values);
  tensor.data.assign(values.begin(), values.end());
}

}  // namespace

std::string describe(const Case& c) {
  std::string text;
  for (const CaseInput& input : c.inputs)
    text += input.absent ? "- "
                         : fmt::format("{}{} ", names_type(input.type.dtype) ? name_of(input.type.dtype) : "",
                                       input.type.shape.to_string());
  return text + c.attributes.to_string();
}

std::string input_name(size_t i) { return fmt::format("input{}", i); }
std::string output_name(size_t i) { return fmt::format("output{}", i); }

CaseGraph build(const Op& op, const Case& c) {
  CaseGraph built;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    built.inputs.push_back(c.inputs[i].absent
                               ? Value{}
                               : built.graph.input(input_name(i), c.inputs[i].type.shape, c.inputs[i].type.dtype));
  built.outputs = built.graph.add(op, built.inputs, c.attributes);
  return built;
}

GradientGraph build_gradient(const Op& op, const Case& c) {
  GradientGraph built;
  CaseGraph forward = build(op, c);
  built.extended = c;
  const TensorType upstream_type = forward.graph.info(forward.outputs[0]).type;
  built.extended.inputs.push_back({upstream_type});
  const Value upstream = forward.graph.input(input_name(c.inputs.size()), upstream_type.shape, upstream_type.dtype);
  Values wanted;
  const auto differentiated = [](const CaseInput& input) {
    return !input.absent && !input.constant && input.type.dtype == DType::f32;
  };
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (differentiated(c.inputs[i])) wanted.push_back(forward.inputs[i]);
  const Values gradients = differentiate(forward.graph, forward.outputs[0], upstream, wanted);
  size_t next = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!differentiated(c.inputs[i])) continue;
    if (const Value gradient = gradients[next++]) {
      forward.graph.mark_output(gradient, fmt::format("gradient{}", built.wanted.size()));
      built.wanted.push_back(i);
    } else {
      built.constant.push_back(i);
    }
  }
  built.graph = std::move(forward.graph);
  return built;
}

HostTensor random_tensor(const CaseInput& input, uint64_t seed) {
  // Only the generator's raw output is used: distributions differ between standard libraries.
  std::mt19937_64 generator(seed);
  HostTensor tensor(input.type);
  for (double& value : tensor.data) {
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    value = input.type.dtype == DType::i32 ? std::floor(input.low + unit * (input.high - input.low + 1))
                                           : round_to(input.type.dtype, input.low + unit * (input.high - input.low));
  }
  if (is_blocks(input.type.dtype)) encode_tensor(tensor, generator);
  return tensor;
}

std::vector<HostTensor> random_inputs(const Op& op, const Case& c) {
  std::vector<HostTensor> tensors;
  uint64_t seed = 1469598103934665603ULL;
  for (char letter : op.name) seed = (seed ^ static_cast<uint8_t>(letter)) * 1099511628211ULL;
  for (const CaseInput& input : c.inputs) tensors.push_back(input.absent ? HostTensor{} : random_tensor(input, seed++));
  return tensors;
}

void write_inputs(Program& program, const Case& c, const std::vector<HostTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (c.inputs[i].absent) continue;
    const auto& data = tensors[i].data;
    if (tensors[i].type.dtype == DType::i32)
      program.write(input_name(i), std::vector<int32_t>(data.begin(), data.end()));
    else if (is_blocks(tensors[i].type.dtype))
      program.write_blocks(input_name(i), tensors[i].blocks);
    else
      program.write(input_name(i), std::vector<float>(data.begin(), data.end()));
  }
}

std::vector<HostTensor> run_reference(const Node& node, const std::vector<HostTensor>& inputs) {
  std::vector<const HostTensor*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) pointers.push_back(node.has_input(i) ? &inputs[i] : nullptr);
  std::vector<HostTensor> outputs;
  for (size_t o = 0; o < node.output_types.size(); ++o) {
    outputs.emplace_back(node.output_types[o]);
    const int source = o < node.op->aliases.size() ? node.op->aliases[o] : -1;
    if (source >= 0) outputs.back().data = inputs[static_cast<size_t>(source)].data;
  }
  if (node.op->reference) node.op->reference(node, pointers, outputs);
  return outputs;
}

}  // namespace vkformer
