// How many levels an expression has.

#include <algorithm>

#include "models/chat/jinja/syntax.h"

namespace vkformer::jinja {

namespace {

int depth_of(const ExpressionPtr& expression) { return expression ? expression->depth : 0; }
int depth_of(const std::vector<ExpressionPtr>& expressions) {
  int depth = 0;
  for (const ExpressionPtr& expression : expressions) depth = std::max(depth, depth_of(expression));
  return depth;
}
template <class First>
int depth_of(const std::vector<std::pair<First, ExpressionPtr>>& pairs) {
  int depth = 0;
  for (const auto& [first, second] : pairs) {
    depth = std::max(depth, depth_of(second));
    if constexpr (std::is_same_v<First, ExpressionPtr>) depth = std::max(depth, depth_of(first));
  }
  return depth;
}
int depth_of(const ArgumentList& arguments) {
  return std::max(depth_of(arguments.positional), depth_of(arguments.named));
}
int depth_inside(const Constant&) { return 0; }
int depth_inside(const Name&) { return 0; }
int depth_inside(const Caught&) { return 0; }
int depth_inside(const SequenceLiteral& of) { return depth_of(of.items); }
int depth_inside(const DictionaryLiteral& of) { return depth_of(of.items); }
int depth_inside(const Unary& of) { return depth_of(of.operand); }
int depth_inside(const Binary& of) { return std::max(depth_of(of.left), depth_of(of.right)); }
int depth_inside(const Comparison& of) { return std::max(depth_of(of.first), depth_of(of.others)); }
int depth_inside(const Concatenation& of) { return depth_of(of.parts); }
int depth_inside(const Conditional& of) {
  return std::max({depth_of(of.test), depth_of(of.value), depth_of(of.otherwise)});
}
int depth_inside(const Attribute& of) { return depth_of(of.object); }
int depth_inside(const Item& of) { return std::max(depth_of(of.object), depth_of(of.index)); }
int depth_inside(const Slice& of) {
  return std::max({depth_of(of.object), depth_of(of.begin), depth_of(of.end), depth_of(of.step)});
}
int depth_inside(const Call& of) { return std::max(depth_of(of.function), depth_of(of.arguments)); }
int depth_inside(const Filter& of) { return std::max(depth_of(of.object), depth_of(of.arguments)); }
int depth_inside(const Test& of) { return std::max(depth_of(of.object), depth_of(of.arguments)); }

}  // namespace

int depth_within(const Expression::Form& form) {
  return std::visit([](const auto& of) { return depth_inside(of); }, form);
}

}  // namespace vkformer::jinja
