#version 460
// variant quads:
// variant words: -DWORDS
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/roof/roof.args.h"

PUSH(RoofCopyArgs);

void process(uint i, bool whole) { store(args.y, i, whole, load(args.x, i, whole)); }

void main() { STREAM(process) }
