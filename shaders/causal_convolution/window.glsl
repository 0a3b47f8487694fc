#ifndef VKFORMER_CONVOLUTION_WINDOW_GLSL
#define VKFORMER_CONVOLUTION_WINDOW_GLSL
// Walks the positions of one channel and keeps what the present one sees. Needs `args` with ConvolutionShares all.

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint THREADS = 64;
layout(constant_id = 1) const int K = 4;

// Inputs that are loaded together, so that each need not wait for the one before it.
const int BLOCK = 4;

uint batch, channel;
int first, end;  // the share's positions

// The last K inputs that the present position sees, the latest last, zeros where it sees none. Positions without a text
// leave them, so that at last they are what a tail must have.
float window[K];
int text_before;

float weight[K], bias;

bool has(uint trait) { return (args.all.traits & trait) != 0; }

// False for workgroups past the end. Channels past the end are the kernel's to leave out.
bool take_share() {
  const uint group = gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x;
  const uint share = group / args.all.channel_groups;
  channel = group % args.all.channel_groups * THREADS + gl_LocalInvocationID.x;
  batch = share / args.all.shares;
  first = int(share % args.all.shares) * args.all.span;
  end = min(first + args.all.span, args.all.positions);
  return batch < args.all.batches;
}

uint row_of(int t) { return batch * uint(args.all.positions) + uint(t); }

uint index_of(int t) { return row_of(t) * args.all.channels + channel; }

int text_at(int t) {
  if (!has(convolution_texts)) return 1;
  return args.all.texts.v[row_of(t)];
}

void load_weights() {
  [[unroll]] for (int k = 0; k < K; ++k) weight[k] = args.all.weight.v[channel * uint(K) + uint(k)];
  bias = 0;
  if (has(convolution_bias)) bias = args.all.bias.v[channel];
}

// The walk begins at position t and has seen nothing.
void begin_at(int t) {
  [[unroll]] for (int k = 0; k < K; ++k) window[k] = 0;
  text_before = text_at(t);
}

void see(int text, float x) {
  const bool same = text == text_before;
  text_before = text;
  if (text == 0) return;
  [[unroll]] for (int k = 0; k < K - 1; ++k) window[k] = same ? window[k + 1] : 0;
  window[K - 1] = x;
}

float weighed() {
  float sum = bias;
  [[unroll]] for (int k = 0; k < K; ++k) sum += weight[k] * window[k];
  return sum;
}

#endif
