#include "runtime/vulkan/module_needs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "runtime/check.h"

namespace vkformer {

namespace {

// Numbers of the SPIR-V specification, chapter 3. Tests compile without its headers.
enum OpCode : uint32_t {
  op_execution_mode = 16,
  op_capability = 17,
  op_type_bool = 20,
  op_type_int = 21,
  op_type_float = 22,
  op_type_vector = 23,
  op_type_array = 28,
  op_type_struct = 30,
  op_type_pointer = 32,
  op_constant_true = 41,
  op_constant_false = 42,
  op_constant = 43,
  op_constant_composite = 44,
  op_spec_constant_true = 48,
  op_spec_constant_false = 49,
  op_spec_constant = 50,
  op_spec_constant_composite = 51,
  op_spec_constant_op = 52,
  op_variable = 59,
  op_decorate = 71,
  op_composite_extract = 81,
  op_execution_mode_id = 331,
};
constexpr uint32_t decoration_spec_id = 1, decoration_built_in = 11, built_in_workgroup_size = 25;
constexpr uint32_t capability_cooperative_matrix = 6022;
constexpr uint32_t mode_local_size = 17, mode_local_size_id = 38, storage_workgroup = 4;

using Number = std::optional<uint64_t>;  ///< nothing: what is not computed here

/// Of 32-bit numbers, by the opcode inside OpSpecConstantOp.
Number computed(uint32_t opcode, const std::vector<Number>& of) {
  for (const Number& operand : of)
    if (!operand) return {};
  const auto at = [&](size_t i) { return static_cast<uint32_t>(*of.at(i)); };
  const auto signed_at = [&](size_t i) { return static_cast<int32_t>(at(i)); };
  switch (opcode) {
    case 113: return at(0);                                                                          // UConvert
    case 114: return at(0);                                                                          // SConvert
    case 124: return at(0);                                                                          // Bitcast
    case 128: return at(0) + at(1);                                                                  // IAdd
    case 130: return at(0) - at(1);                                                                  // ISub
    case 132: return at(0) * at(1);                                                                  // IMul
    case 134: return at(1) ? Number(at(0) / at(1)) : Number();                                       // UDiv
    case 135: return at(1) ? Number(static_cast<uint32_t>(signed_at(0) / signed_at(1))) : Number();  // SDiv
    case 137: return at(1) ? Number(at(0) % at(1)) : Number();                                       // UMod
    case 164: return at(0) == at(1);                                                                 // LogicalEqual
    case 165: return at(0) != at(1);                                                                 // LogicalNotEqual
    case 166: return at(0) || at(1);                                                                 // LogicalOr
    case 167: return at(0) && at(1);                                                                 // LogicalAnd
    case 168: return !at(0);                                                                         // LogicalNot
    case 169: return at(0) ? at(1) : at(2);                                                          // Select
    case 170: return at(0) == at(1);                                                                 // IEqual
    case 171: return at(0) != at(1);                                                                 // INotEqual
    case 172: return at(0) > at(1);                                                                  // UGreaterThan
    case 173: return signed_at(0) > signed_at(1);
    case 174: return at(0) >= at(1);  // UGreaterThanEqual
    case 175: return signed_at(0) >= signed_at(1);
    case 176: return at(0) < at(1);  // ULessThan
    case 177: return signed_at(0) < signed_at(1);
    case 178: return at(0) <= at(1);  // ULessThanEqual
    case 179: return signed_at(0) <= signed_at(1);
    case 194: return at(0) >> (at(1) & 31);  // ShiftRightLogical
    case 196: return at(0) << (at(1) & 31);  // ShiftLeftLogical
    case 197: return at(0) | at(1);          // BitwiseOr
    case 198: return at(0) ^ at(1);          // BitwiseXor
    case 199: return at(0) & at(1);          // BitwiseAnd
    case 200: return ~at(0);                 // Not
    default: return {};
  }
}

class Reader {
 public:
  explicit Reader(std::span<const uint32_t> constants) : constants_(constants) {}

  /// One instruction behind its first word. Declarations come before what uses them.
  void take(uint32_t opcode, std::span<const uint32_t> w) {
    const auto word = [w](size_t i) {
      check(i < w.size(), "the SPIR-V module breaks off");
      return w[i];
    };
    switch (opcode) {
      case op_capability: matrix_cores_ |= word(0) == capability_cooperative_matrix; break;
      case op_decorate:
        if (word(1) == decoration_spec_id) spec_ids_[word(0)] = word(2);
        if (word(1) == decoration_built_in && word(2) == built_in_workgroup_size) workgroup_size_ = word(0);
        break;
      case op_execution_mode:
        if (word(1) == mode_local_size) literal_size_ = uint64_t{word(2)} * word(3) * word(4);
        break;
      case op_execution_mode_id:
        if (word(1) == mode_local_size_id) size_ids_ = {word(2), word(3), word(4)};
        break;
      case op_type_bool: bytes_[word(0)] = 4; break;
      case op_type_int:
      case op_type_float: bytes_[word(0)] = word(1) / 8; break;
      case op_type_vector: bytes_[word(0)] = times(bytes_[word(1)], word(2)); break;
      case op_type_array: bytes_[word(0)] = times(bytes_[word(1)], values_[word(2)]); break;
      case op_type_struct:
        bytes_[word(0)] = 0;
        for (const uint32_t member : w.subspan(std::min<size_t>(1, w.size())))
          bytes_[word(0)] = sum(bytes_[word(0)], bytes_[member]);
        break;
      case op_type_pointer: pointed_[word(0)] = word(2); break;
      case op_constant_true:
      case op_constant_false: values_[word(1)] = opcode == op_constant_true; break;
      case op_constant: values_[word(1)] = word(2); break;
      case op_spec_constant_true:
      case op_spec_constant_false: values_[word(1)] = specialized(word(1), opcode == op_spec_constant_true); break;
      case op_spec_constant: values_[word(1)] = specialized(word(1), word(2)); break;
      case op_constant_composite:
      case op_spec_constant_composite: parts_[word(1)] = {w.begin() + 2, w.end()}; break;
      case op_spec_constant_op: values_[word(1)] = value_of(word(2), w.subspan(3)); break;
      case op_variable:
        if (word(2) == storage_workgroup) shared_ = sum(shared_, bytes_[pointed_[word(0)]]);
        break;
      default: break;
    }
  }

  ModuleNeeds needs() {
    Number invocations = literal_size_;
    std::vector<uint32_t> axes = size_ids_;
    if (const auto built_in = parts_.find(workgroup_size_); built_in != parts_.end()) axes = built_in->second;
    if (!axes.empty()) invocations = 1;
    for (const uint32_t axis : axes) invocations = times(invocations, values_[axis]);
    check(invocations && shared_, "the module's workgroup or its memory has a size that is no whole constant");
    return {*invocations, *shared_, matrix_cores_};
  }

 private:
  static Number times(Number a, Number b) { return a && b ? Number(*a * *b) : Number(); }
  static Number sum(Number a, Number b) { return a && b ? Number(*a + *b) : Number(); }

  uint64_t specialized(uint32_t id, uint32_t otherwise) const {
    const auto number = spec_ids_.find(id);
    return number != spec_ids_.end() && number->second < constants_.size() ? constants_[number->second] : otherwise;
  }

  Number value_of(uint32_t opcode, std::span<const uint32_t> w) {
    if (opcode == op_composite_extract) {
      const auto composite = parts_.find(w[0]);
      return composite == parts_.end() ? Number() : values_[composite->second.at(w[1])];
    }
    std::vector<Number> operands;
    for (const uint32_t id : w) operands.push_back(values_[id]);
    return computed(opcode, operands);
  }

  std::span<const uint32_t> constants_;
  std::map<uint32_t, uint32_t> spec_ids_, pointed_;
  std::map<uint32_t, Number> values_, bytes_;
  std::map<uint32_t, std::vector<uint32_t>> parts_;  ///< of composites
  uint32_t workgroup_size_ = 0;                      ///< the constant that the built-in decorates
  std::vector<uint32_t> size_ids_;
  Number literal_size_ = 1, shared_ = 0;
  bool matrix_cores_ = false;
};

}  // namespace

ModuleNeeds needs_of(std::span<const uint32_t> words, std::span<const uint32_t> constants) {
  constexpr size_t header = 5;
  constexpr uint32_t op_function = 54;
  Reader reader(constants);
  for (size_t at = header; at < words.size();) {
    const uint32_t opcode = words[at] & 0xffff, length = words[at] >> 16;
    if (opcode == op_function) break;  // behind it is only code
    check(length > 0 && at + length <= words.size(), "the SPIR-V module breaks off");
    reader.take(opcode, words.subspan(at + 1, length - 1));
    at += length;
  }
  return reader.needs();
}

}  // namespace vkformer
