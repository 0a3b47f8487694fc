#pragma once
// A static graph of values and nodes: what a model builds, autodiff extends, plan places and the recorder records.
// Nodes run in the order they were added.

#include <map>
#include <utility>

#include "runtime/tensor.h"

namespace vkformer {

struct Op;

/// A handle to one tensor of a Graph. A default-constructed Value stands for "absent" (an optional input, no gradient).
struct Value {
  int32_t id = -1;
  explicit operator bool() const { return id >= 0; }
  auto operator<=>(const Value&) const = default;
};
using Values = std::vector<Value>;

/// Named numbers of a node (epsilon, heads, ...). Integers and flags are stored exactly as doubles.
/// Names must be string literals.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string_view, double>> entries) : entries_(entries) {}
  /// Throws Error when there is no such attribute.
  double number(std::string_view name) const;
  int64_t integer(std::string_view name) const { return static_cast<int64_t>(number(name)); }
  bool flag(std::string_view name) const { return number(name) != 0; }
  /// Adds the attribute, or gives it another value.
  void set(std::string_view name, double value);
  const std::vector<std::pair<std::string_view, double>>& entries() const { return entries_; }
  /// "epsilon=1e-05 heads=4"
  std::string to_string() const;

 private:
  std::vector<std::pair<std::string_view, double>> entries_;
};

/// One application of an op. It carries the types of its inputs and outputs, so ops need no graph to look at shapes.
struct Node {
  const Op* op = nullptr;
  Values inputs;
  Values outputs;
  std::vector<TensorType> input_types;
  std::vector<TensorType> output_types;
  Attributes attributes;
  std::string scope;  ///< where the model added it, e.g. "h.0.attn", for timings and messages

  bool has_input(size_t i) const { return i < inputs.size() && inputs[i]; }
  /// Shape of input i (an empty shape for an absent one).
  const Shape& in(size_t i) const { return input_types[i].shape; }
  const Shape& out(size_t i) const { return output_types[i].shape; }
  double number(std::string_view name) const { return attributes.number(name); }
  int64_t integer(std::string_view name) const { return attributes.integer(name); }
  bool flag(std::string_view name) const { return attributes.flag(name); }
};

/// Where a value's bytes lie.
enum class Storage : uint8_t {
  temporary,   ///< in the planned arena of one program
  input,       ///< in the step buffer, written by the host before each run
  persistent,  ///< in a Store, by name, shared by programs (parameters, optimiser state, caches)
};

/// What a persistent tensor is for.
enum class Role : uint8_t {
  parameter,     ///< of the model, or a block of them: loaded, saved, and trained where there is a gradient
  constant,      ///< written once by the host, never trained or saved (rotary angles, sinusoids)
  cache,         ///< keys and values of each row's earlier positions
  state,         ///< what a layer keeps of all earlier positions of each row, of constant size
  memory,        ///< what a decoder keeps of its encoder's output: one for each source, whatever rows read it
  moment,        ///< state of the optimiser
  gradient_sum,  ///< of an iteration's micro-batches
};
std::string_view name_of(Role);

struct ValueInfo {
  TensorType type;
  Storage storage = Storage::temporary;
  Role role = Role::parameter;  ///< of a persistent tensor
  std::string name;             ///< of an input, a persistent tensor or an output; empty otherwise
  int producer = -1;            ///< index of the node that computes it, -1 for inputs and persistent tensors
  bool output = false;          ///< the host reads it after each run
};

class Graph {
 public:
  /// A tensor the host writes before each run. Names are unique. Rows of blocks are whole ones.
  Value input(const std::string& name, const Shape& shape, DType dtype = DType::f32);
  /// A tensor of the Store. Asking twice for one name gives the same Value; types and roles must agree.
  Value persistent(const std::string& name, const Shape& shape, Role role = Role::parameter, DType dtype = DType::f32);
  /// Appends a node, with its outputs' types from infer_types(); throws what that throws, with the scope in front.
  Values add(const Op& op, Values inputs, Attributes attributes = {});
  /// The first output of add().
  Value apply(const Op& op, Values inputs, Attributes attributes = {}) {
    return add(op, std::move(inputs), std::move(attributes)).front();
  }
  /// Gives node `node` an optional input that it was added without. Throws what infer_types() throws, and Error when
  /// there is one already or when the node runs before `value` is computed.
  void supply(int node, size_t input, Value value);
  /// The host will read `value` after each run, under this name.
  void mark_output(Value value, const std::string& name);

  const ValueInfo& info(Value value) const { return values_[static_cast<size_t>(value.id)]; }
  const Shape& shape(Value value) const { return info(value).type.shape; }
  size_t value_count() const { return values_.size(); }
  const std::vector<Node>& nodes() const { return nodes_; }
  /// All inputs / persistent tensors / outputs, in the order they were made.
  Values inputs() const { return with_storage(Storage::input); }
  Values persistents() const { return with_storage(Storage::persistent); }
  const Values& outputs() const { return outputs_; }
  /// The value of that name; throws Error when there is none.
  Value find(const std::string& name) const;
  bool has_output(const std::string& name) const {
    const auto known = by_name_.find(name);
    return known != by_name_.end() && info(known->second).output;
  }

  /// While it lives, nodes are added under "outer.name".
  class Scope {
   public:
    Scope(Graph& graph, std::string_view name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    size_t outer_length_;
  };
  /// Sets the whole scope; autodiff gives gradient nodes the scope of the node they differentiate.
  void set_scope(std::string scope) { scope_ = std::move(scope); }
  const std::string& scope() const { return scope_; }

 private:
  Value new_value(ValueInfo info);
  Values with_storage(Storage storage) const;

  std::vector<ValueInfo> values_;
  std::vector<Node> nodes_;
  Values outputs_;
  std::map<std::string, Value> by_name_;
  std::string scope_;
};

}  // namespace vkformer
