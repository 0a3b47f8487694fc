// Expressions of a template.

#include <algorithm>

#include "models/chat/jinja/evaluator.h"
#include "models/chat/jinja/filters.h"
#include "models/chat/jinja/operations.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

Value Evaluator::evaluate(const Expression& expression) {
  budget_.step();
  const Budget::Level level(budget_);
  const int line = std::exchange(line_, expression.line);  // stays where an error happens
  Value value = std::visit([&](const auto& form) { return evaluate(form); }, expression.form);
  line_ = line;
  return value;
}

Value Evaluator::evaluate(const Name& form) {
  if (const Value* found = find(form.name)) return *found;
  return Value::undefined(in_quotes(form.name) + " is undefined");
}

Value Evaluator::evaluate(const SequenceLiteral& form) {
  budget_.make(form.items.size() * sizeof(Value));
  Values items;
  for (const ExpressionPtr& each : form.items) items.push_back(evaluate(*each));
  return Value::sequence(form.tuple ? Sequence::Kind::tuple : Sequence::Kind::list, std::move(items));
}

Value Evaluator::evaluate(const DictionaryLiteral& form) {
  budget_.make(2 * form.items.size() * sizeof(Value));
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [key_form, value_form] : form.items) {
    Value key = evaluate(*key_form);
    check(key.is_text() || key.is_number() || key.is_none(), "a {} can't be a key here", type_name(key));
    Value value = evaluate(*value_form);
    budget_.step(std::ssize(items));
    const auto found = std::ranges::find_if(items, [&](const auto& other) { return equal(other.first, key); });
    if (found != items.end())
      found->second = std::move(value);
    else
      items.emplace_back(std::move(key), std::move(value));
  }
  return Value::dictionary(std::move(items));
}

Value Evaluator::evaluate(const Unary& form) {
  Value operand = evaluate(*form.operand);
  if (form.operation == "not") return !truth(operand);
  if (form.operation == "-") return negated(operand);
  negated(operand);  // refuses what has no sign
  return operand.is<bool>() ? Value(operand.integer()) : operand;
}

Value Evaluator::evaluate(const Binary& form) {
  Value left = evaluate(*form.left);
  if (form.operation == "and") return truth(left) ? evaluate(*form.right) : left;
  if (form.operation == "or") return truth(left) ? left : evaluate(*form.right);
  return arithmetic(budget_, form.operation, left, evaluate(*form.right));
}

Value Evaluator::evaluate(const Comparison& form) {
  Value left = evaluate(*form.first);
  for (const auto& [operation, other] : form.others) {
    Value right = evaluate(*other);
    if (!compare(budget_, operation, left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::evaluate(const Concatenation& form) {
  Values parts;
  for (const ExpressionPtr& part : form.parts) parts.push_back(evaluate(*part));
  return joined(budget_, parts, "");
}

Value Evaluator::evaluate(const Conditional& form) {
  if (truth(evaluate(*form.test))) return evaluate(*form.value);
  if (form.otherwise) return evaluate(*form.otherwise);
  return Value::undefined("an 'if' without 'else' gave nothing");
}

Value Evaluator::evaluate(const Attribute& form) { return attribute(budget_, evaluate(*form.object), form.name); }

Value Evaluator::evaluate(const Item& form) {
  const Value object = evaluate(*form.object);
  return item(budget_, object, evaluate(*form.index));
}

Value Evaluator::evaluate(const Slice& form) {
  const Value object = evaluate(*form.object);
  const auto bound = [&](const ExpressionPtr& part) { return part ? evaluate(*part) : Value(); };
  const Value begin = bound(form.begin), end = bound(form.end), step = bound(form.step);
  return slice(budget_, object, begin, end, step);
}

Arguments Evaluator::evaluate(const ArgumentList& list) {
  Arguments arguments;
  for (const ExpressionPtr& each : list.positional) arguments.positional.push_back(evaluate(*each));
  for (const auto& [name, value] : list.named) arguments.named.emplace_back(name, evaluate(*value));
  return arguments;
}

Value Evaluator::evaluate(const Call& form) {
  const Value function = evaluate(*form.function);
  return call(budget_, function, evaluate(form.arguments));
}

Value Evaluator::evaluate(const Filter& form) {
  const Value object = evaluate(*form.object);
  return apply_filter(budget_, form.name, object, evaluate(form.arguments));
}

Value Evaluator::evaluate(const Test& form) {
  const Value object = evaluate(*form.object);
  return apply_test(budget_, form.name, object, evaluate(form.arguments));
}

}  // namespace vkformer::jinja
