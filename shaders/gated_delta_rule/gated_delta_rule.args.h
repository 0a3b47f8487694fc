#ifndef VKFORMER_GATED_DELTA_RULE_ARGS_H
#define VKFORMER_GATED_DELTA_RULE_ARGS_H
// Specialization constants 0-3: delta_lines.glsl.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct DeltaSizes {
  uint positions;         // T
  uint key_heads, heads;  // Hk, H
  uint key_width, value_width;
  uint has_texts;
};

struct DeltaRuleArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats y;            // has storage where bit 0 of `outputs` is set
  Floats corrections;  // bit 1
  Floats state;        // of variants that go on
  Ints position;
  DeltaSizes sizes;
  uint own_positions;  // `position` has one for each row
  uint outputs;
};

struct DeltaValuesBackwardArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats upstream;
  Floats dwritten;  // [B, T, H, Dv]: gradient of beta * correction
  DeltaSizes sizes;
};

struct DeltaKeysBackwardArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats upstream;
  Floats corrections;
  Floats dwritten;
  Floats dq;        // [B, T, H, Dk]
  Floats dk_read;   // of what is read by k
  Floats dk_write;  // of what is written by k
  DeltaSizes sizes;
};

struct DeltaJoinArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats corrections;
  Floats dwritten;
  Floats dq;
  Floats dk_read;
  Floats dk_write;
  Floats dx;      // bit 0 of `outputs`
  Floats dgates;  // bit 1
  Floats ends;    // [B, T, H]: what a position adds to dg of all before it
  DeltaSizes sizes;
  uint rows;  // B T Hk
  uint outputs;
};

struct DeltaDecayBackwardArgs {
  Floats ends;
  Ints texts;
  Floats dgates;
  DeltaSizes sizes;
};

VKFORMER_SHARED_END
#endif
