#include "shaders/causal_convolution/causal_convolution.h"

#include "shaders/causal_convolution/convolution_shares.h"

namespace vkformer {

namespace {

// --- causal_convolution: x, weight, bias?, texts? -> y ---

Types infer(const Node& node) {
  check_convolution(node, 0);
  return {node.input_types[0]};
}

void record(Recorder& recorder, const Node& node) {
  const ConvolutionSizes sizes(node, 0);
  CausalConvolutionArgs args{.all = convolution_shares(recorder, node, 0, convolution_span(recorder.device(), sizes)),
                             .before = {.position = recorder.address(node.inputs[0])},  // see convolution_shares()
                             .y = recorder.address(node.outputs[0])};
  args.all.outputs = 1;
  recorder.dispatch(convolution_launch(recorder, "causal_convolution", args.all, sizes.taps), args);
}

Values gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  if (!upstream[0]) return {{}, {}, {}, {}};
  const Values inputs = node.inputs;
  const Values gradients = graph.add(causal_convolution_backward_op,
                                     {upstream[0], inputs[0], inputs[1], inputs[2], inputs[3]}, node.attributes);
  return {gradients[0], gradients[1], inputs[2] ? gradients[2] : Value{}, {}};
}

void reference(const Node& node, Inputs in, Outputs out) {
  const ConvolutionSizes sizes(node, 0);
  for (int64_t b = 0; b < sizes.batches; ++b)
    for (int64_t t = 0; t < sizes.positions; ++t)
      for (int64_t c = 0; c < sizes.channels; ++c) {
        double sum = in[2] ? (*in[2])[c] : 0;
        for (int64_t k = 0; k < sizes.taps; ++k)
          if (const int64_t s = t - (sizes.taps - 1) + k; s >= 0 && convolution_sees(in[3], sizes.positions, b, s, t))
            sum += (*in[1])[c * sizes.taps + k] * (*in[0])[(b * sizes.positions + s) * sizes.channels + c];
        const bool in_text = !in[3] || (*in[3])[b * sizes.positions + t] != 0;
        out[0][(b * sizes.positions + t) * sizes.channels + c] =
            in_text ? activated(static_cast<Activation>(node.integer("activation")), sum) : 0;
      }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const ConvolutionCase& c : convolution_cases())
    list.push_back({.inputs = c.inputs(), .attributes = c.attributes(), .reduction = c.taps});
  return list;
}

Cost cost(const Node& node) {
  const auto elements = static_cast<double>(node.in(0).elements());
  return {.bytes = 8 * elements + static_cast<double>(node.input_types[1].bytes()),
          .flops = 2 * static_cast<double>(node.in(1)[1]) * elements};
}

const Op causal_convolution_op = {.name = "causal_convolution",
                                  .infer = infer,
                                  .record = record,
                                  .gradient = gradient,
                                  .reference = reference,
                                  .cases = cases,
                                  .cost = cost};

Attributes attributes_of(const CausalConvolution& of) { return {{"activation", static_cast<double>(of.activation)}}; }

}  // namespace

Value causal_convolution(Graph& graph, const CausalConvolution& of) {
  return graph.apply(causal_convolution_op, {of.x, of.weight, of.bias, of.texts}, attributes_of(of));
}

Value continued_convolution(Graph& graph, const CausalConvolution& of, Value tail, Value position) {
  const Values outputs =
      graph.add(continued_convolution_op, {tail, of.x, of.weight, of.bias, of.texts, position}, attributes_of(of));
  return outputs[1];
}

}  // namespace vkformer

VKFORMER_OPS(causal_convolution, &vkformer::causal_convolution_op, &vkformer::causal_convolution_backward_op,
             &vkformer::continued_convolution_op)
