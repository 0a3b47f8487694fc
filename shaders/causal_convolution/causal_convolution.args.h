#ifndef VKFORMER_CAUSAL_CONVOLUTION_ARGS_H
#define VKFORMER_CAUSAL_CONVOLUTION_ARGS_H
// Specialization constants of all kernels here: 0, invocations of a workgroup; 1, K.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

// Bits of `traits`.
const uint convolution_silu = 1;
const uint convolution_bias = 2;
const uint convolution_texts = 4;

// What all of them read, and how it is shared out: the workgroups of a share's channels, then the shares of a row, then
// the rows.
struct ConvolutionShares {
  Floats x;       // [B, T, C]
  Floats weight;  // [C, K]
  Floats bias;    // [C], where there is one
  Ints texts;     // [B, T], where there are any
  uint batches;   // B
  int positions;  // T
  uint channels;  // C
  uint channel_groups;
  uint shares;  // of a row
  int span;     // positions of a share
  uint traits;
  uint outputs;  // which outputs are wanted: the others have no storage
};

struct ConvolutionTail {
  Floats tail;         // [B, K - 1, C]
  Ints position;       // one, or one for each batch
  uint own_positions;  // how many; 0: there is no tail
  uint unused;         // GLSL and C++ agree about sizes that are multiples of 8
};

struct CausalConvolutionArgs {
  ConvolutionShares all;  // outputs: bit 0, y; bit 1, the tail, where a row is one share
  ConvolutionTail before;
  Floats y;  // [B, T, C]
};

struct ContinuedConvolutionTailArgs {
  ConvolutionShares all;
  ConvolutionTail before;
};

struct CausalConvolutionBackwardArgs {
  ConvolutionShares all;  // outputs: bit 0, dx; bit 1, the partial sums
  Floats upstream;        // [B, T, C]
  Floats dx;              // [B, T, C]
  Floats partial_sums;    // [B, shares, C * K + C]: a share's part of dweight and dbias
};

VKFORMER_SHARED_END
#endif
