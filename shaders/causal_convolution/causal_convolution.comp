#version 460
// y[t] = activation(bias + sum of weight[k] x[t - (K - 1) + k]) over what position t sees. An invocation takes `span`
// positions of one channel, one after the other, and its neighbours take the neighbouring channels. Where that is the
// whole row, it also leaves the row's tail.
#extension GL_GOOGLE_include_directive : require
#include "shaders/causal_convolution/causal_convolution.args.h"
#include "shaders/common/activation.glsl"

PUSH(CausalConvolutionArgs);

#include "shaders/causal_convolution/window.glsl"
#include "shaders/causal_convolution/tail.glsl"

void main() {
  if (!take_share() || channel >= args.all.channels) return;
  const bool writes = (args.all.outputs & 1) != 0;
  load_weights();
  int t = max(first - (K - 1), 0);
  begin_at(t);
  if (t == 0) go_on_from_tail();
  for (; t < end; t += BLOCK) {
    float x[BLOCK];
    int text[BLOCK];
    [[unroll]] for (int i = 0; i < BLOCK; ++i) {
      const int at = min(t + i, end - 1);
      x[i] = args.all.x.v[index_of(at)];
      text[i] = text_at(at);
    }
    [[unroll]] for (int i = 0; i < BLOCK; ++i) {
      if (t + i >= end) continue;
      see(text[i], x[i]);
      if (t + i < first || !writes) continue;
      const float sum = weighed(), y = has(convolution_silu) ? silu(sum) : sum;
      args.y.v[index_of(t + i)] = text[i] == 0 ? 0 : y;
    }
  }
  if ((args.all.outputs & 2) != 0) leave_tail();
}
