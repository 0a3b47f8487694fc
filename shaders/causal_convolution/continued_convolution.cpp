#include "shaders/causal_convolution/convolution_shares.h"

namespace vkformer {

namespace {

// --- continued_convolution: tail, x, weight, bias?, texts?, position -> tail, y ---

Types infer_continued(const Node& node) {
  check_convolution(node, 1);
  const ConvolutionSizes sizes(node, 1);
  check(node.input_types[0] == TensorType{{sizes.batches, sizes.taps - 1, sizes.channels}},
        "[continued_convolution] tail is {}, x {} and weight {} need f32 [{}, {}, {}]", node.in(0).to_string(),
        node.in(1).to_string(), node.in(2).to_string(), sizes.batches, sizes.taps - 1, sizes.channels);
  check(node.has_input(5) && node.input_types[5].dtype == DType::i32 &&
            (node.in(5) == Shape{1} || node.in(5) == Shape{sizes.batches}),
        "[continued_convolution] position is {}, it must be i32 [1] or [{}]", node.in(5).to_string(), sizes.batches);
  return {node.input_types[0], node.input_types[1]};
}

// A row of several shares has a tail that the first one must have read before it changes.
void record_continued(Recorder& recorder, const Node& node) {
  const ConvolutionSizes sizes(node, 1);
  const Region tail = recorder.region(node.inputs[0]), y = recorder.region(node.outputs[1]);
  const ConvolutionTail before{.tail = tail.address,
                               .position = recorder.address(node.inputs[5]),
                               .own_positions = static_cast<uint>(node.in(5)[0]),
                               .unused = 0};
  CausalConvolutionArgs args{.all = convolution_shares(recorder, node, 1, convolution_span(recorder.device(), sizes)),
                             .before = before,
                             .y = y.address};
  const bool one_share = args.all.shares == 1;
  args.all.outputs = (y.address ? 1u : 0u) | (one_share ? 2u : 0u);
  Launch launch = convolution_launch(recorder, "causal_convolution", args.all, sizes.taps);
  if (!one_share) launch.writes = {y};
  if (args.all.outputs != 0) recorder.dispatch(launch, args);
  if (one_share) return;

  const ContinuedConvolutionTailArgs last{.all = convolution_shares(recorder, node, 1, sizes.positions),
                                          .before = before};
  launch = convolution_launch(recorder, "continued_convolution_tail", last.all, sizes.taps);
  launch.writes = {tail};
  launch.cost = Cost{.bytes = 2 * static_cast<double>(tail.bytes), .flops = 0};
  recorder.dispatch(launch, last);
}

void reference_continued(const Node& node, Inputs in, Outputs out) {
  const ConvolutionSizes sizes(node, 1);
  const int64_t batches = sizes.batches, positions = sizes.positions, channels = sizes.channels, taps = sizes.taps;
  const HostTensor &tail = *in[0], &x = *in[1], &weight = *in[2], &position = *in[5];
  for (int64_t b = 0; b < batches; ++b) {
    const bool begins = position[node.in(5)[0] > 1 ? b : 0] == 0;
    // What position t sees of position s, which is before x where it is negative.
    const auto seen = [&](int64_t t, int64_t s, int64_t c) {
      if (!convolution_sees(in[4], positions, b, s, t) || (s < 0 && begins)) return 0.0;
      return s < 0 ? tail[(b * (taps - 1) + taps - 1 + s) * channels + c] : x[(b * positions + s) * channels + c];
    };
    int64_t last = -1;
    for (int64_t t = 0; t < positions; ++t) {
      if (in[4] && (*in[4])[b * positions + t] == 0) continue;
      last = t;
      for (int64_t c = 0; c < channels; ++c) {
        double sum = in[3] ? (*in[3])[c] : 0;
        for (int64_t d = 0; d < taps; ++d) sum += weight[c * taps + taps - 1 - d] * seen(t, t - d, c);
        out[1][(b * positions + t) * channels + c] =
            activated(static_cast<Activation>(node.integer("activation")), sum);
      }
    }
    for (int64_t d = 0; d < taps - 1; ++d)
      for (int64_t c = 0; c < channels; ++c) {
        double& kept = out[0][(b * (taps - 1) + taps - 2 - d) * channels + c];
        if (last >= 0)
          kept = seen(last, last - d, c);
        else if (begins)
          kept = 0;
      }
  }
}

std::vector<Case> cases_continued() {
  std::vector<Case> list;
  const auto add = [&](const ConvolutionCase& c, double lowest, double highest, bool own_positions) {
    Case next{.inputs = c.inputs(), .attributes = c.attributes(), .reduction = c.taps};
    next.inputs.insert(next.inputs.begin(), {.type = {{c.batches, c.taps - 1, c.channels}}});
    next.inputs.push_back({.type = {{own_positions ? c.batches : 1}, DType::i32}, .low = lowest, .high = highest});
    list.push_back(next);
  };
  for (const ConvolutionCase& c : convolution_cases()) {
    add(c, 0, 0, false);
    add(c, 5, 5, false);
    add(c, 0, 1, true);
  }
  return list;
}

Cost cost_continued(const Node& node) {
  const auto elements = static_cast<double>(node.in(1).elements());
  return {.bytes = 8 * elements + static_cast<double>(2 * node.input_types[0].bytes() + node.input_types[2].bytes()),
          .flops = 2 * static_cast<double>(node.in(2)[1]) * elements};
}

}  // namespace

const Op continued_convolution_op = {.name = "continued_convolution",
                                     .infer = infer_continued,
                                     .record = record_continued,
                                     .reference = reference_continued,
                                     .cases = cases_continued,
                                     .cost = cost_continued,
                                     .aliases = {0, -1}};

}  // namespace vkformer
