#pragma once
// The op contract: plain data. One folder under shaders/ is one op family; each op in it is one `Op` constant, listed
// in the registry by VKFORMER_OPS at the end of the folder's .cpp. Everything else walks the registry: conformance,
// gradient check, timing, the support table, `--device reference`.

#include "runtime/check.h"
#include "runtime/device_facts.h"
#include "runtime/graph.h"
#include "runtime/kernel_room.h"

namespace vkformer {

class Recorder;

using Types = std::vector<TensorType>;
/// Reference inputs; nullptr where an optional input is absent.
using Inputs = std::span<const HostTensor* const>;
/// Reference outputs: typed and zero-filled, except that an output which aliases an input starts as a copy of it.
using Outputs = std::span<HostTensor>;

/// What a node must at least move and compute, for roofs and time budgets.
struct Cost {
  double bytes = 0;  ///< compulsory device-memory traffic
  double flops = 0;  ///< floating-point operations, a fused multiply-add counts two
  /// How much of that is needed depends on an input's value, as on how full a cache is: good for time budgets, no rate.
  bool at_most = false;

  Cost& operator+=(const Cost& other) {
    bytes += other.bytes;
    flops += other.flops;
    at_most |= other.at_most;
    return *this;
  }
};

/// One input of a conformance case: values are uniform in [low, high] (integers inclusive for i32).
struct CaseInput {
  TensorType type;
  double low = -1;
  double high = 1;
  bool absent = false;
  bool constant = false;  ///< f32 that is data: its gradient is not checked
};

/// One conformance case: a one-node graph with random inputs.
struct Case {
  std::vector<CaseInput> inputs;
  Attributes attributes;
  /// Length of the longest sum behind one output element; the tolerance grows with it (see runtime/conform/conform.h).
  int64_t reduction = 1;
  /// Candidates that this case leaves to `conform --all`, because others prove them: what they share with the kernels
  /// that run this case (types, layouts, rules) by those, what is their own (their sizes) by further cases. Never the
  /// one that goes first.
  std::vector<std::string_view> spared = {};
};

struct Op {
  std::string_view name;
  /// Output types; throws "[layer_norm] gain has 8 columns, x has 16".
  Types (*infer)(const Node&) = nullptr;
  /// Chooses a kernel, fills its arguments and dispatches. nullptr: the op only renames storage (see `aliases`).
  void (*record)(Recorder&, const Node&) = nullptr;
  /// One gradient for each input (an absent Value where there is none), given one upstream gradient for each output
  /// (absent where nothing flows). nullptr: not differentiable, on purpose.
  Values (*gradient)(Graph&, const Node&, std::span<const Value> upstream) = nullptr;
  /// Double precision, written from the formula.
  void (*reference)(const Node&, Inputs, Outputs) = nullptr;
  /// Prime sizes, ones, tails; small enough that the double reference takes milliseconds.
  std::vector<Case> (*cases)() = nullptr;
  Cost (*cost)(const Node&) = nullptr;

  // Optional.

  /// Names of the kernels legal for this node on this device, best first; empty means "not supported here".
  /// nullptr: there is one kernel, legal everywhere. `record` asks Recorder::candidate() which one to use.
  std::vector<std::string_view> (*candidates)(const Node&, const DeviceFacts&) = nullptr;
  /// The kind of device a candidate was written for. nullptr: any, all of them.
  KernelRoom (*room)(std::string_view candidate) = nullptr;
  /// Bytes of workspace that live only while the node runs, for the candidate about to be recorded.
  int64_t (*scratch)(const Node&, const DeviceFacts&, std::string_view candidate) = nullptr;
  /// aliases[o] = i: output o *is* the storage of input i, changed in place (or merely reshaped). -1: its own storage.
  std::vector<int> aliases = {};
  /// Bit i: input i may be of 16-bit floats, where infer() permits them too. Others never see one: Graph::add refuses.
  uint32_t half_inputs = 0;
  /// Bit i: input i may be blocks (is_blocks()), where infer() permits them too. Results are only
  /// where an op renames or copies storage.
  uint32_t block_inputs = 0;
  /// Output 0 may overwrite input 0 when nobody reads input 0 later: every invocation reads only what it writes.
  bool in_place = false;
  /// An optional input of output 0's type that is added to it (-1: there is none): autodiff sums the gradients of
  /// several uses there, where it can, and needs no `add`.
  int addend = -1;
  /// Output 0 may overwrite the addend, when there is one, instead of input 0; `record` sees it from their addresses.
  bool addend_in_place = false;
  /// Byte offset inside output 0 at which each input is stored (the join op): the plan puts inputs there directly.
  /// Empty where they are not stored in one piece.
  std::vector<int64_t> (*places)(const Node&) = nullptr;

  /// Its output is its input under another shape: nothing runs.
  bool renames_storage() const { return record == nullptr; }
};

/// The node's output types. Throws Error when an input is of a type that the op does not take, and what infer() throws.
Types infer_types(const Node& node);
/// Whether the node would take input i as `dtype`, with all else, its outputs included, as it is.
bool takes(const Node& node, size_t input, DType dtype);

/// The node that computes `value`, behind those that only rename storage; nullptr: none does. Adding nodes moves it.
const Node* source_of(const Graph& graph, Value value);
/// The same of one kind.
const Node* source_of(const Graph& graph, Value value, bool (*is)(const Node&));

/// All ops, sorted by name.
const std::vector<const Op*>& all_ops();
/// The op of that name, or nullptr.
const Op* find_op(std::string_view name);

/// Generated list (one function a folder of shaders/): see cmake/shaders.cmake.
using OpList = std::vector<const Op*>;

}  // namespace vkformer

/// At the end of shaders/<folder>/<folder>.cpp, at global scope: VKFORMER_OPS(layer_norm, &vkformer::layer_norm_op,
/// ...)
#define VKFORMER_OPS(folder, ...)                    \
  namespace vkformer::registry {                     \
  OpList ops_of_##folder() { return {__VA_ARGS__}; } \
  }
