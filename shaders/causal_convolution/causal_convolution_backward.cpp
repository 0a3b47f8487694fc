#include <algorithm>

#include "shaders/causal_convolution/convolution_shares.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/common/activation_reference.h"

namespace vkformer {

namespace {

// --- causal_convolution_backward: upstream, x, weight, bias?, texts? -> dx, dweight, dbias ---

Types infer_backward(const Node& node) {
  check_convolution(node, 1);
  check(node.has_input(0) && node.input_types[0] == node.input_types[1],
        "[causal_convolution_backward] upstream is {}, x is {}", node.in(0).to_string(), node.in(1).to_string());
  return {node.input_types[1], node.input_types[2], {Shape{node.in(1)[2]}}};
}

/// Spans so long that column_sum has few parts to add up, one for each share.
int64_t backward_span(const DeviceFacts& facts, const ConvolutionSizes& sizes) {
  const int64_t least = groups_for(sizes.batches * sizes.positions, facts.is_cpu() ? 16 : 256);
  return std::min(sizes.positions, std::max(convolution_span(facts, sizes), least));
}

int64_t parts_of(const DeviceFacts& facts, const ConvolutionSizes& sizes) {
  return sizes.batches * groups_for(sizes.positions, backward_span(facts, sizes));
}

int64_t scratch_backward(const Node& node, const DeviceFacts& facts, std::string_view) {
  const ConvolutionSizes sizes(node, 1);
  return parts_of(facts, sizes) * sizes.channels * (sizes.taps + 1) * size_of(DType::f32);
}

void record_backward(Recorder& recorder, const Node& node) {
  const DeviceFacts& facts = recorder.device();
  const ConvolutionSizes sizes(node, 1);
  const int64_t weights = sizes.channels * sizes.taps, columns = weights + sizes.channels;
  const int64_t parts = parts_of(facts, sizes);
  check(parts * columns < int64_t{1} << 31, "[causal_convolution_backward] {} parts of {} sums; at most 2^31 - 1",
        parts, columns);
  const Region dx = recorder.region(node.outputs[0]), dweight = recorder.region(node.outputs[1]);
  const Region dbias = recorder.region(node.outputs[2]);
  const auto floats = [](int64_t count) { return static_cast<uint64_t>(count * size_of(DType::f32)); };
  const Region partial = recorder.scratch_region(0, floats(parts * columns));

  CausalConvolutionBackwardArgs args{.all = convolution_shares(recorder, node, 1, backward_span(facts, sizes)),
                                     .upstream = recorder.address(node.inputs[0]),
                                     .dx = dx.address,
                                     .partial_sums = partial.address};
  args.all.outputs = (dx.address ? 1u : 0u) | (dweight.address || dbias.address ? 2u : 0u);
  Launch launch = convolution_launch(recorder, "causal_convolution_backward", args.all, sizes.taps);
  launch.writes = {dx, partial};
  recorder.dispatch(launch, args);
  // A part is one row [dweight, dbias].
  if (dweight.address && dbias.address) {
    record_column_sum(recorder, {partial, parts, columns, columns, dweight, dbias, weights});
  } else if (dweight.address) {
    record_column_sum(recorder, {partial, parts, weights, columns, dweight, {}, weights});
  } else if (dbias.address) {
    const Region behind = recorder.scratch_region(floats(weights), partial.bytes - floats(weights));
    record_column_sum(recorder, {behind, parts, sizes.channels, columns, dbias, {}, sizes.channels});
  }
}

void reference_backward(const Node& node, Inputs in, Outputs out) {
  const ConvolutionSizes sizes(node, 1);
  const HostTensor &upstream = *in[0], &x = *in[1], &weight = *in[2];
  const bool activates = static_cast<Activation>(node.integer("activation")) == Activation::silu;
  std::vector<int64_t> sources;  // of each tap; -1: it sees none
  for (int64_t b = 0; b < sizes.batches; ++b)
    for (int64_t t = 0; t < sizes.positions; ++t) {
      if (in[4] && (*in[4])[b * sizes.positions + t] == 0) continue;
      sources.clear();
      for (int64_t s = t - (sizes.taps - 1); s <= t; ++s)
        sources.push_back(s >= 0 && convolution_sees(in[4], sizes.positions, b, s, t) ? b * sizes.positions + s : -1);
      for (int64_t c = 0; c < sizes.channels; ++c) {
        double sum = in[3] ? (*in[3])[c] : 0;
        const auto each = [&](const auto& take) {
          for (int64_t k = 0; k < sizes.taps; ++k)
            if (const int64_t row = sources[static_cast<size_t>(k)]; row >= 0)
              take(c * sizes.taps + k, row * sizes.channels + c);
        };
        each([&](int64_t w, int64_t i) { sum += weight[w] * x[i]; });
        const double dy = upstream[(b * sizes.positions + t) * sizes.channels + c];
        const double g = activates ? dy * silu_derivative(sum) : dy;
        each([&](int64_t w, int64_t i) {
          out[0][i] += weight[w] * g;
          out[1][w] += x[i] * g;
        });
        out[2][c] += g;
      }
    }
}

std::vector<Case> cases_backward() {
  std::vector<Case> list;
  for (const ConvolutionCase& c : convolution_cases()) {
    Case next{.inputs = c.inputs(), .attributes = c.attributes(), .reduction = c.batches * c.positions};
    next.inputs.insert(next.inputs.begin(), {.type = next.inputs[0].type});
    list.push_back(next);
  }
  return list;
}

Cost cost_backward(const Node& node) {
  const auto elements = static_cast<double>(node.in(1).elements());
  return {.bytes = 12 * elements + 2 * static_cast<double>(node.input_types[2].bytes()),
          .flops = 6 * static_cast<double>(node.in(2)[1]) * elements};
}

}  // namespace

const Op causal_convolution_backward_op = {.name = "causal_convolution_backward",
                                           .infer = infer_backward,
                                           .record = record_backward,
                                           .reference = reference_backward,
                                           .cases = cases_backward,
                                           .cost = cost_backward,
                                           .scratch = scratch_backward};

}  // namespace vkformer
