#pragma once
// The angles of a Decoder's rotary positions, as constants, and the turning by them.

#include "models/families/decoder/decoder.h"
#include "models/families/layers.h"

namespace vkformer {

/// Tables of all its rotaries' angles.
std::vector<ConstantSpec> rotary_constants(const Decoder& decoder);

/// Heads side by side in a tensor's columns, of which some turn.
struct TurningHeads {
  int64_t heads = 1;
  int64_t width = 0;   ///< columns from one head to the next
  int64_t turned = 0;  ///< of them turn
  int64_t column = 0;  ///< the first one that does, of head 0
};

/// x [B, T, columns] with those heads turned by one of the rotaries at the pass's positions. `queries`: by angles of
/// their own where queries grow.
Value turn_heads(Layers& layers, const Decoder& decoder, Value x, int rotary, const TurningHeads& heads,
                 bool queries = false);
/// Whether queries grow somewhere in this pass of x.
bool queries_grow(Layers& layers, const Decoder& decoder, Value x, int rotary);

}  // namespace vkformer
