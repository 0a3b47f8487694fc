#version 460
// variant quads:
// variant words: -DWORDS
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"

PUSH(StreamCopyArgs);

void process(uint i, bool whole) { store(args.y, i, whole, load(args.x, i, whole)); }

void main() { STREAM(process) }
