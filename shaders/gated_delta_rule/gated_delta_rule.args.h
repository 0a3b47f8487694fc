#ifndef VKFORMER_GATED_DELTA_RULE_ARGS_H
#define VKFORMER_GATED_DELTA_RULE_ARGS_H
// Specialization constants 0-3: delta_lines.glsl.
#include "shaders/common/shared.h"

VKFORMER_SHARED_BEGIN

struct DeltaSizes {
  uint positions;         // T
  uint key_heads, heads;  // Hk, H
  uint key_width, value_width;
  uint rules;  // bits: below
};
const uint delta_has_texts = 1;     // `texts` says which positions belong together
const uint delta_corrects = 2;      // what is written is beta (v - S' k), not beta v
const uint delta_values_first = 4;  // rows of x are values, keys, queries, not queries, keys, values
const uint delta_skips = 8;         // y has skip v added
// Positions from one to the next of which the backward pass keeps the states.
const uint delta_span = 64;

struct DeltaRuleArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats skip;
  Floats y;            // has storage where bit 0 of `outputs` is set
  Floats corrections;  // bit 1
  Floats state;        // of variants that go on; else [B, kept, H, Dv, Dk] behind every delta_span positions, bit 2
  Ints position;
  DeltaSizes sizes;
  uint own_positions;  // `position` has one for each row
  uint kept;           // states of a row
  uint outputs;
};

struct DeltaValuesBackwardArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats upstream;
  Floats dwritten;  // [B, T, H, Dv]: gradient of beta * correction
  Floats states;    // [B, kept, H, Dv, Dk]
  Floats products;  // [B, kept, H, Dv]: of the columns of such a state and its gradient
  DeltaSizes sizes;
  uint kept;
};

struct DeltaKeysBackwardArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats upstream;
  Floats corrections;
  Floats dwritten;
  Floats dq;        // [B, T, H, Dk]
  Floats dk_read;   // of what is read by k; has storage where what is written is corrected
  Floats dk_write;  // of what is written by k
  DeltaSizes sizes;
};

struct DeltaJoinArgs {
  Floats x;
  Floats gates;
  Ints texts;
  Floats upstream;
  Floats skip;
  Floats scratch;  // corrections, dwritten, dq, dk_write, dk_read, and [B, T, H]: what a position adds to dg before it
  Floats dx;       // bit 0 of `outputs`
  Floats dgates;   // bit 1
  Floats dskip;    // [B, T, H]: each position's part, bit 2
  DeltaSizes sizes;
  uint values_part, keys_part;  // floats of a part of `scratch`: of the first two, of the next ones
  uint rows;                    // B T Hk
  uint outputs;
};

struct DeltaDecayBackwardArgs {
  Floats gates;
  Ints texts;
  Floats ends;
  Floats products;
  Floats dgates;
  DeltaSizes sizes;
  uint kept;
};

VKFORMER_SHARED_END
#endif
