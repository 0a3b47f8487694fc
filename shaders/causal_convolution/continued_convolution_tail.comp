#version 460
// The tail of each row that is several shares: the last K - 1 inputs that its last position with a text sees.
#extension GL_GOOGLE_include_directive : require
#include "shaders/causal_convolution/causal_convolution.args.h"

PUSH(ContinuedConvolutionTailArgs);

#include "shaders/causal_convolution/window.glsl"
#include "shaders/causal_convolution/tail.glsl"

shared int shared_last;

// The row's last position with a text, -1: there is none. The whole workgroup looks for it.
int last_position() {
  if (!has(convolution_texts)) return args.all.positions - 1;
  if (gl_LocalInvocationID.x == 0) shared_last = -1;
  barrier();
  int last = -1;
  for (int t = int(gl_LocalInvocationID.x); t < args.all.positions; t += int(THREADS))
    if (text_at(t) != 0) last = t;
  atomicMax(shared_last, last);
  barrier();
  return shared_last;
}

void main() {
  if (!take_share()) return;
  const int last = last_position();
  if (channel >= args.all.channels) return;
  int t = max(last - (K - 2), 0);
  begin_at(t);
  if (t == 0) go_on_from_tail();
  for (; t <= last; ++t) see(text_at(t), args.all.x.v[index_of(t)]);
  leave_tail();
}
