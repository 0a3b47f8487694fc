#include "runtime/graph.h"

#include "runtime/op.h"

namespace vkformer {

double Attributes::number(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return value;
  fail("the attribute '{}' is missing", name);
}

void Attributes::set(std::string_view name, double value) {
  for (auto& [key, known] : entries_)
    if (key == name) {
      known = value;
      return;
    }
  entries_.emplace_back(name, value);
}

std::string Attributes::to_string() const {
  std::string text;
  for (const auto& [key, value] : entries_) text += fmt::format("{}{}={:g}", text.empty() ? "" : " ", key, value);
  return text;
}

std::string_view name_of(Role role) {
  constexpr std::string_view names[] = {"parameter", "constant", "cache", "state", "memory", "moment", "gradient sum"};
  return names[static_cast<size_t>(role)];
}

Value Graph::new_value(ValueInfo info) {
  const BlockFormat& format = format_of(info.type.dtype);
  check(info.type.shape.columns() % format.values == 0, "'{}' {} can't be {}: rows are no whole blocks of {}",
        info.name, info.type.shape.to_string(), format.name, format.values);
  values_.push_back(std::move(info));
  return Value{static_cast<int32_t>(values_.size() - 1)};
}

Value Graph::input(const std::string& name, const Shape& shape, DType dtype) {
  check(!by_name_.contains(name), "the graph already has a value named '{}'", name);
  return by_name_[name] = new_value({.type = {shape, dtype}, .storage = Storage::input, .name = name});
}

Value Graph::persistent(const std::string& name, const Shape& shape, Role role, DType dtype) {
  const TensorType type{shape, dtype};
  if (auto known = by_name_.find(name); known != by_name_.end()) {
    const ValueInfo& there = info(known->second);
    check(there.type == type && there.storage == Storage::persistent,
          "'{}' is asked for as {} {}, but the graph has it as {} {}", name, name_of(dtype), shape.to_string(),
          name_of(there.type.dtype), there.type.shape.to_string());
    check(there.role == role, "'{}' is asked for as a {}, but the graph has it as a {}", name, name_of(role),
          name_of(there.role));
    return known->second;
  }
  return by_name_[name] = new_value({.type = type, .storage = Storage::persistent, .role = role, .name = name});
}

Values Graph::add(const Op& op, Values inputs, Attributes attributes) {
  Node node{.op = &op,
            .inputs = std::move(inputs),
            .outputs = {},
            .input_types = {},
            .output_types = {},
            .attributes = std::move(attributes),
            .scope = scope_};
  for (Value input : node.inputs) node.input_types.push_back(input ? info(input).type : TensorType{});
  try {
    node.output_types = infer_types(node);
  } catch (const Error& error) {
    throw Error(scope_.empty() ? std::string(error.what()) : fmt::format("{}: {}", scope_, error.what()),
                error.where());
  }
  for (const TensorType& type : node.output_types)
    node.outputs.push_back(new_value({.type = type, .name = {}, .producer = static_cast<int>(nodes_.size())}));
  nodes_.push_back(std::move(node));
  return nodes_.back().outputs;
}

void Graph::supply(int index, size_t input, Value value) {
  Node& node = nodes_[static_cast<size_t>(index)];
  check(!node.has_input(input), "[{}] has an input {} already", node.op->name, input);
  check(info(value).producer < index, "[{}] runs before its new input {} is computed", node.op->name, input);
  if (node.inputs.size() <= input) {
    node.inputs.resize(input + 1);
    node.input_types.resize(input + 1);
  }
  node.inputs[input] = value;
  node.input_types[input] = info(value).type;
  infer_types(node);
}

void Graph::mark_output(Value value, const std::string& name) {
  ValueInfo& target = values_[static_cast<size_t>(value.id)];
  check(!by_name_.contains(name) || by_name_[name] == value, "the graph already has a value named '{}'", name);
  by_name_[name] = value;
  if (target.name.empty()) target.name = name;
  if (!target.output) outputs_.push_back(value);
  target.output = true;
}

Value Graph::find(const std::string& name) const {
  auto known = by_name_.find(name);
  check(known != by_name_.end(), "the graph has no value named '{}'", name);
  return known->second;
}

Values Graph::with_storage(Storage storage) const {
  Values found;
  for (size_t i = 0; i < values_.size(); ++i)
    if (values_[i].storage == storage) found.push_back(Value{static_cast<int32_t>(i)});
  return found;
}

Graph::Scope::Scope(Graph& graph, std::string_view name) : graph_(graph), outer_length_(graph.scope_.size()) {
  if (!graph_.scope_.empty()) graph_.scope_ += '.';
  graph_.scope_ += name;
}

Graph::Scope::~Scope() { graph_.scope_.resize(outer_length_); }

}  // namespace vkformer
