#version 460
// With g[t] = upstream[t] * activation'(what y[t] is the activation of), 0 where there is no text,
//   dx[s] = sum of weight[K - 1 - d] g[s + d] over the positions s + d that see s,
// and over the share's positions t the sums of g[t] x[t - (K - 1) + k] (weight) and of g[t] (bias), which column_sum
// adds up. An invocation takes a share of one channel, as forward.
#extension GL_GOOGLE_include_directive : require
#include "shaders/causal_convolution/causal_convolution.args.h"
#include "shaders/common/activation.glsl"

PUSH(CausalConvolutionBackwardArgs);

#include "shaders/causal_convolution/window.glsl"

float dweight[K], dbias;
float dx[K];   // dx[d] is that of the position d before the present one, as far as it is summed up
int seen = 0;  // so many positions, of K, the present one sees, itself included

void take(int t, int text, float x, float upstream) {
  seen = text == 0 ? 0 : text == text_before ? min(seen + 1, K) : 1;
  see(text, x);
  float g = 0;
  if (t >= first && text != 0) g = has(convolution_silu) ? upstream * silu_derivative(weighed()) : upstream;
  if (t < end) {
    [[unroll]] for (int k = 0; k < K; ++k) dweight[k] += g * window[k];
    dbias += g;
  }
  [[unroll]] for (int d = 0; d < K; ++d) dx[d] += d < seen ? weight[K - 1 - d] * g : 0;
  const int done = t - (K - 1);
  if (done >= first && (args.all.outputs & 1) != 0) args.dx.v[index_of(done)] = dx[K - 1];
  [[unroll]] for (int d = K - 1; d > 0; --d) dx[d] = dx[d - 1];
  dx[0] = 0;
}

void main() {
  if (!take_share() || channel >= args.all.channels) return;
  load_weights();
  [[unroll]] for (int k = 0; k < K; ++k) dweight[k] = dx[k] = 0;
  dbias = 0;
  int t = max(first - (K - 1), 0);
  begin_at(t);
  // The last position is seen by those up to K - 1 behind it. Behind the row there are none, as if without a text.
  const int stop = end + K - 1, positions = args.all.positions;
  for (; t < stop; t += BLOCK) {
    float x[BLOCK], upstream[BLOCK];
    int text[BLOCK];
    [[unroll]] for (int i = 0; i < BLOCK; ++i) {
      const int at = min(t + i, positions - 1);
      x[i] = args.all.x.v[index_of(at)];
      upstream[i] = args.upstream.v[index_of(at)];
      text[i] = t + i < positions ? text_at(at) : 0;
    }
    [[unroll]] for (int i = 0; i < BLOCK; ++i) if (t + i < stop) take(t + i, text[i], x[i], upstream[i]);
  }
  if ((args.all.outputs & 2) == 0) return;
  const uint columns = args.all.channels * uint(K);
  const uint part = (batch * args.all.shares + uint(first / args.all.span)) * (columns + args.all.channels);
  [[unroll]] for (int k = 0; k < K; ++k) args.partial_sums.v[part + channel * uint(K) + uint(k)] = dweight[k];
  args.partial_sums.v[part + columns + channel] = dbias;
}
