#ifndef VKFORMER_STREAM_ARGS_H
#define VKFORMER_STREAM_ARGS_H
// How a kernel walks flat f32 arrays from end to end; see stream.glsl (kernels) and stream.h (launches).
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct Stream {
  uint elements;  // below 2^31
  uint span;      // groups of four that one workgroup walks
};

struct StreamCopyArgs {
  FloatQuads x;
  FloatQuads y;
  Stream stream;
};

VKFORMER_SHARED_END
#endif
