#ifndef VKFORMER_CONVOLUTION_TAIL_GLSL
#define VKFORMER_CONVOLUTION_TAIL_GLSL
// What a row's walk has seen before its first position, and what it leaves. Needs `args` with ConvolutionTail before.

uint tail_index(int k) { return (batch * uint(K - 1) + uint(k)) * args.all.channels + channel; }

void go_on_from_tail() {
  if (args.before.own_positions == 0) return;
  if (args.before.position.v[min(batch, args.before.own_positions - 1)] == 0) return;
  [[unroll]] for (int k = 0; k < K - 1; ++k) window[k + 1] = args.before.tail.v[tail_index(k)];
}

void leave_tail() {
  [[unroll]] for (int k = 0; k < K - 1; ++k) args.before.tail.v[tail_index(k)] = window[k + 1];
}

#endif
