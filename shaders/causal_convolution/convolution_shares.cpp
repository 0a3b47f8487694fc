#include "shaders/causal_convolution/convolution_shares.h"

#include <algorithm>

namespace vkformer {

namespace {

/// A GPU's lanes hide each other's latency, a CPU driver's subgroup is as wide as its vectors.
uint32_t convolution_threads(const DeviceFacts& facts) {
  return facts.is_cpu() ? std::max(facts.subgroup_size, 4u) : facts.largest_group(64);
}

}  // namespace

void check_convolution(const Node& node, size_t x) {
  const std::string_view op = node.op->name;
  const auto is = [&](size_t i, DType type) { return node.has_input(i) && node.input_types[i].dtype == type; };
  check(is(x, DType::f32) && node.in(x).rank() == 3 && node.in(x).elements() > 0, "[{}] x is {}, needs f32 [B, T, C]",
        op, node.in(x).to_string());
  const Shape &inputs = node.in(x), &weight = node.in(x + 1);
  check(is(x + 1, DType::f32) && weight.rank() == 2 && weight[0] == inputs[2],
        "[{}] weight is {}, x {} needs f32 [{}, K]", op, weight.to_string(), inputs.to_string(), inputs[2]);
  check(weight[1] >= 2 && weight[1] <= 8, "[{}] weight is {}; its K must be 2 to 8", op, weight.to_string());
  check(!node.has_input(x + 2) || node.input_types[x + 2] == TensorType{{inputs[2]}},
        "[{}] bias is {}, x {} needs f32 [{}]", op, node.in(x + 2).to_string(), inputs.to_string(), inputs[2]);
  check(!node.has_input(x + 3) || node.input_types[x + 3] == TensorType{{inputs[0], inputs[1]}, DType::i32},
        "[{}] texts is {}, x {} needs i32 [{}, {}]", op, node.in(x + 3).to_string(), inputs.to_string(), inputs[0],
        inputs[1]);
  const auto activation = static_cast<Activation>(node.integer("activation"));
  check(activation == Activation::none || activation == Activation::silu, "[{}] activation {} is neither none nor silu",
        op, node.integer("activation"));
  check(inputs.elements() < int64_t{1} << 31 && weight.elements() < int64_t{1} << 31,
        "[{}] x is {}, weight {}; kernels address at most 2^31 - 1 elements", op, inputs.to_string(),
        weight.to_string());
}

int64_t convolution_span(const DeviceFacts& facts, const ConvolutionSizes& sizes) {
  if (facts.is_cpu()) return std::min<int64_t>(sizes.positions, 64);
  const int64_t elements = sizes.batches * sizes.positions * sizes.channels;
  return std::min(sizes.positions, std::clamp<int64_t>(elements / (facts.usual_cores() * 2048), 8, 64));
}

ConvolutionShares convolution_shares(const Recorder& recorder, const Node& node, size_t x, int64_t span) {
  const ConvolutionSizes sizes(node, x);
  // What is absent lies at x, and nobody uses it: drivers (Mesa 26's lavapipe) load what all lanes share before they
  // look whether it is wanted.
  const auto address = [&](size_t i) { return recorder.address(node.inputs[node.has_input(i) ? i : x]); };
  const bool silu = static_cast<Activation>(node.integer("activation")) == Activation::silu;
  return {.x = address(x),
          .weight = address(x + 1),
          .bias = address(x + 2),
          .texts = address(x + 3),
          .batches = static_cast<uint>(sizes.batches),
          .positions = static_cast<int>(sizes.positions),
          .channels = static_cast<uint>(sizes.channels),
          .channel_groups = groups_for(sizes.channels, convolution_threads(recorder.device())),
          .shares = groups_for(sizes.positions, span),
          .span = static_cast<int>(span),
          .traits = (silu ? convolution_silu : 0) | (node.has_input(x + 2) ? convolution_bias : 0) |
                    (node.has_input(x + 3) ? convolution_texts : 0),
          .outputs = 0};
}

Launch convolution_launch(const Recorder& recorder, std::string_view kernel, const ConvolutionShares& shares,
                          int64_t taps) {
  const uint64_t groups = uint64_t{shares.channel_groups} * shares.shares * shares.batches;
  return {.kernel = kernel,
          .constants = {convolution_threads(recorder.device()), static_cast<uint32_t>(taps)},
          .groups = spread_groups(recorder.device(), groups)};
}

bool convolution_sees(const HostTensor* texts, int64_t positions, int64_t batch, int64_t s, int64_t t) {
  if (!texts) return true;
  const double own = (*texts)[batch * positions + t];
  for (int64_t between = std::max<int64_t>(s, 0); between < t; ++between)
    if ((*texts)[batch * positions + between] != own) return false;
  return own != 0;
}

std::vector<CaseInput> ConvolutionCase::inputs() const {
  return {
      {.type = {{batches, positions, channels}}},
      {.type = {{channels, taps}}},
      {.type = {Shape{channels}}, .absent = !bias},
      {.type = {{batches, positions}, DType::i32}, .low = least_text, .high = most_texts, .absent = most_texts < 0}};
}

std::span<const ConvolutionCase> convolution_cases() {
  static const ConvolutionCase cases[] = {
      {1, 1, 1, 4},
      {2, 1, 13, 4, true, Activation::silu},
      {31, 1, 5, 4, false, Activation::silu, 2},  // one position, in some rows of no text
      {3, 2, 67, 4, true, Activation::none},
      {61, 2, 3, 4, true, Activation::silu, 1},  // padding in front, behind, on both sides
      {61, 5, 3, 4, false, Activation::none, 1},
      {2, 67, 130, 4, true, Activation::silu},
      {3, 131, 7, 4, true, Activation::silu, 1},
      {2, 131, 13, 4, false, Activation::silu, 2, 1},  // texts without padding
      {2, 193, 17, 4, false, Activation::none, 0},     // nothing but padding
      {1, 257, 11, 4, true, Activation::none, 7, 7},   // one text
      {5, 3, 7, 3, true, Activation::silu, 2},
      {2, 71, 37, 3, false, Activation::none},
  };
  return cases;
}

}  // namespace vkformer
