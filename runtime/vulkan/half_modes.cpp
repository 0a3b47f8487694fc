#include "runtime/vulkan/half_modes.h"

#include <optional>
#include <set>
#include <utility>

#include "runtime/check.h"

namespace vkformer {

std::vector<uint32_t> with_half_modes(std::span<const uint32_t> words, const HalfModes& modes, bool trusted) {
  // Numbers of the SPIR-V specification, chapter 3, and of GLSL.std.450.
  constexpr size_t header = 5, bound = 3;
  constexpr uint32_t op_ext_inst = 12, op_entry_point = 15, op_execution_mode = 16, op_capability = 17;
  constexpr uint32_t op_type_float = 22, op_type_vector = 23, op_function = 54, op_f_convert = 115, op_bitcast = 124;
  constexpr uint32_t pack_half_2x16 = 58, unpack_half_2x16 = 62, float16 = 9;
  constexpr uint32_t denorm_preserve = 4464, denorm_preserve_mode = 4459;
  constexpr uint32_t rounding_mode_rte = 4467, rounding_mode_rte_mode = 4462;
  constexpr uint32_t op_constant_true = 48, op_constant_false = 49, op_decorate = 71, spec_id = 1;
  constexpr uint32_t halves_may_vanish = 100, halves_may_be_cut = 101;
  const auto each_instruction = [&](const auto& take) {
    for (size_t at = header; at < words.size();) {
      const uint32_t length = words[at] >> 16;
      check(length > 0 && at + length <= words.size(), "the SPIR-V module breaks off");
      take(words[at] & 0xffff, words.subspan(at, length));
      at += length;
    }
  };

  uint32_t entry_point = 0;
  std::set<uint32_t> switched_on;           // ids
  std::optional<uint32_t> half, half_pair;  // the types' ids
  bool unpacks = false, packs = false, has_float16 = false;
  each_instruction([&](uint32_t opcode, std::span<const uint32_t> w) {
    if (opcode == op_entry_point) entry_point = w[2];
    if (opcode == op_decorate && w[2] == spec_id && !trusted &&
        ((w[3] == halves_may_vanish && !modes.subnormals) || (w[3] == halves_may_be_cut && !modes.nearest)))
      switched_on.insert(w[1]);
    if (opcode == op_capability && w[1] == float16) has_float16 = true;
    if (opcode == op_type_float && w[2] == 16 && w.size() == 3) half = w[1];  // bf16 has an encoding behind that
    if (opcode == op_type_vector && half && w[2] == *half && w[3] == 2) half_pair = w[1];
    packs = packs || (opcode == op_ext_inst && w[4] == pack_half_2x16);
    unpacks = unpacks || (opcode == op_ext_inst && w[4] == unpack_half_2x16);
  });
  const bool converts = packs && modes.nearest;

  std::vector<uint32_t> module(words.begin(), words.begin() + header);
  const auto add = [&](uint32_t opcode, std::initializer_list<uint32_t> operands) {
    module.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | opcode);
    module.insert(module.end(), operands);
  };
  const bool has_halves = half || packs || unpacks;
  const bool nearest = has_halves && modes.nearest, subnormals = has_halves && modes.subnormals;
  if (nearest) add(op_capability, {rounding_mode_rte});
  if (subnormals) add(op_capability, {denorm_preserve});
  if (converts && !has_float16) add(op_capability, {float16});
  bool in_functions = false;
  each_instruction([&](uint32_t opcode, std::span<const uint32_t> w) {
    if (opcode == op_function && !std::exchange(in_functions, true) && converts) {
      if (!half) add(op_type_float, {*(half = module[bound]++), 16});
      if (!half_pair) add(op_type_vector, {*(half_pair = module[bound]++), *half, 2});
    }
    if (converts && opcode == op_ext_inst && w[4] == pack_half_2x16) {
      const uint32_t pair = module[bound]++;
      add(op_f_convert, {*half_pair, pair, w[5]});
      add(op_bitcast, {w[1], w[2], pair});
    } else {
      module.insert(module.end(), w.begin(), w.end());
      if (opcode == op_constant_false && switched_on.contains(w[2]))
        module[module.size() - w.size()] += op_constant_true - op_constant_false;
    }
    if (opcode == op_entry_point) {
      if (nearest) add(op_execution_mode, {entry_point, rounding_mode_rte_mode, 16});
      if (subnormals) add(op_execution_mode, {entry_point, denorm_preserve_mode, 16});
    }
  });
  return module;
}

}  // namespace vkformer
