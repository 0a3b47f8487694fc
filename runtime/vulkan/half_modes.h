#pragma once
// How shaders treat 16-bit floats: the driver's choice unless a module asks (SPIR-V's float controls). AMD's choice is
// to round toward zero, so that stored values shrink and one that is too large becomes 65504, which no loss scale takes
// for an overflow; and where subnormals are flushed, weights with small block scales vanish.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/device_facts.h"

namespace vkformer {

/// The module, of SPIR-V 1.4 or later, which asks for these modes if it has 16-bit floats. What GLSL packs is
/// converted, to be rounded as asked: packHalf2x16 stays the driver's choice. Of the modes that are not promised the
/// shaders do themselves what matters (HALVES_MAY_VANISH, HALVES_MAY_BE_CUT), unless `trusted`: known to do it all the
/// same. Throws Error when the module breaks off.
std::vector<uint32_t> with_half_modes(std::span<const uint32_t> words, const HalfModes& modes, bool trusted = false);

}  // namespace vkformer
