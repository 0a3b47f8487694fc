#include "runtime/vulkan/half_modes.h"

#include "runtime/check.h"

namespace vkformer {

std::vector<uint32_t> with_half_modes(std::span<const uint32_t> words, const HalfModes& modes) {
  // Numbers of the SPIR-V specification, chapter 3, and of GLSL.std.450.
  constexpr size_t header = 5;
  constexpr uint32_t op_ext_inst = 12, op_entry_point = 15, op_execution_mode = 16, op_capability = 17;
  constexpr uint32_t op_type_float = 22, pack_half_2x16 = 58, unpack_half_2x16 = 62;
  constexpr uint32_t denorm_preserve = 4464, denorm_preserve_mode = 4459;
  constexpr uint32_t rounding_mode_rte = 4467, rounding_mode_rte_mode = 4462;
  size_t behind_entry_point = 0;
  uint32_t entry_point = 0;
  bool has_halves = false;
  for (size_t at = header; at < words.size();) {
    const uint32_t opcode = words[at] & 0xffff, length = words[at] >> 16;
    check(length > 0 && at + length <= words.size(), "the SPIR-V module breaks off");
    const auto w = words.subspan(at, length);
    at += length;
    if (opcode == op_entry_point) {
      entry_point = w[2];
      behind_entry_point = at;
    }
    const bool is_half = opcode == op_type_float && length == 3 && w[2] == 16;  // bf16 has an encoding behind that
    has_halves = has_halves || is_half ||
                 (opcode == op_ext_inst && (w[4] == pack_half_2x16 || w[4] == unpack_half_2x16));
  }
  std::vector<uint32_t> module(words.begin(), words.end());
  if (!has_halves) return module;
  std::vector<uint32_t> capabilities, execution_modes;
  const auto ask = [&](uint32_t capability, uint32_t mode) {
    capabilities.insert(capabilities.end(), {2u << 16 | op_capability, capability});
    execution_modes.insert(execution_modes.end(), {4u << 16 | op_execution_mode, entry_point, mode, 16});
  };
  if (modes.nearest) ask(rounding_mode_rte, rounding_mode_rte_mode);
  if (modes.subnormals) ask(denorm_preserve, denorm_preserve_mode);
  const auto place = [&](size_t at) { return module.begin() + static_cast<std::ptrdiff_t>(at); };
  module.insert(place(behind_entry_point), execution_modes.begin(), execution_modes.end());
  module.insert(place(header), capabilities.begin(), capabilities.end());
  return module;
}

}  // namespace vkformer
