#pragma once
// What the ops of this folder have in common; internal to it. Their inputs x, weight, bias and texts lie side by side,
// from input `x` on.

#include "runtime/recorder.h"
#include "shaders/causal_convolution/causal_convolution.args.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

extern const Op causal_convolution_backward_op, continued_convolution_op;

struct ConvolutionSizes {
  int64_t batches, positions, channels, taps;  ///< B, T, C, K
  ConvolutionSizes(const Node& node, size_t x)
      : batches(node.in(x)[0]), positions(node.in(x)[1]), channels(node.in(x)[2]), taps(node.in(x + 1)[1]) {}
};

/// Throws Error unless they are those of a convolution.
void check_convolution(const Node& node, size_t x);

/// How many positions an invocation takes, one after the other, at most a row's. Each loads K - 1 more.
int64_t convolution_span(const DeviceFacts& facts, const ConvolutionSizes& sizes);

/// A row's positions in shares of `span`.
ConvolutionShares convolution_shares(const Recorder& recorder, const Node& node, size_t x, int64_t span);

/// Every channel of every share is an invocation's.
Launch convolution_launch(const Recorder& recorder, std::string_view kernel, const ConvolutionShares& shares,
                          int64_t taps);

// --- for references ---

/// Whether position t of the row sees position s <= t; a negative s is one before x.
bool convolution_sees(const HostTensor* texts, int64_t positions, int64_t batch, int64_t s, int64_t t);

struct ConvolutionCase {
  int64_t batches, positions, channels, taps;
  bool bias = false;
  Activation activation = Activation::none;
  double most_texts = -1;  ///< 0 to that many at random; -1: no texts
  double least_text = 0;

  /// x, weight, bias and texts.
  std::vector<CaseInput> inputs() const;
  Attributes attributes() const { return {{"activation", static_cast<double>(activation)}}; }
};

/// Rows of one share and of several, shorter and longer than what a position sees.
std::span<const ConvolutionCase> convolution_cases();

}  // namespace vkformer
