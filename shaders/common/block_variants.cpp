#include "shaders/common/block_variants.h"

#include "runtime/check.h"

namespace vkformer {

std::string_view variant_of_blocks(DType dtype) {
  constexpr std::string_view prefix = "f32_";
  for (std::string_view name : {"f32_q8_0", "f32_q4_0", "f32_q4_1", "f32_q5_0", "f32_q5_1", "f32_q2_k", "f32_q3_k",
                                "f32_q4_k", "f32_q5_k", "f32_q6_k", "f32_iq4_nl", "f32_iq4_xs", "f32_mxfp4"})
    if (name.substr(prefix.size()) == name_of(dtype)) return name;
  fail("{} has no blocks", name_of(dtype));
}

}  // namespace vkformer
