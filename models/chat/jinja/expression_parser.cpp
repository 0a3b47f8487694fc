#include "models/chat/jinja/expression_parser.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

/// Trees deeper than this are refused: reading, evaluating and deleting them recurse once a level.
constexpr int deepest_expression = 200;

constexpr std::string_view comparisons[] = {"==", "!=", "<", "<=", ">", ">="};

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

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.level_ > deepest_expression) {
    --parser_.level_;
    parser_.refuse(fmt::format("more than {} levels lie in each other", deepest_expression));
  }
}

template <class Form>
ExpressionPtr ExpressionParser::make(Form form, int line) const {
  const int depth = 1 + depth_inside(form);
  if (depth > deepest_expression) refuse(fmt::format("more than {} levels lie in each other", deepest_expression));
  return std::make_unique<const Expression>(Expression{line, depth, std::move(form)});
}

void ExpressionParser::refuse(const std::string& problem) const {
  fail("{}, line {}: {}", name_, current().line, problem);
}

bool ExpressionParser::skip_name(std::string_view name) { return current().is_name(name) && (next(), true); }
bool ExpressionParser::skip_symbol(std::string_view symbol) { return current().is_symbol(symbol) && (next(), true); }

void ExpressionParser::expect_name(std::string_view name) {
  if (!skip_name(name)) refuse(fmt::format("'{}' is missing", name));
}

void ExpressionParser::expect_symbol(std::string_view symbol) {
  if (!skip_symbol(symbol)) refuse(fmt::format("'{}' is missing", symbol));
}

std::string ExpressionParser::expect_any_name() {
  if (current().kind != Token::Kind::name) refuse("a name is missing");
  return next().text;
}

void ExpressionParser::expect(Token::Kind kind) {
  if (current().kind != kind) refuse(fmt::format("{} was not expected", in_quotes(current().text)));
  next();
}

ExpressionPtr ExpressionParser::expression(bool conditions) {
  const Level level(*this);
  int line = current().line;
  ExpressionPtr value = logical_or();
  while (conditions && skip_name("if")) {
    ExpressionPtr condition = logical_or();
    ExpressionPtr otherwise = skip_name("else") ? expression() : nullptr;
    value = make(Conditional{std::move(condition), std::move(value), std::move(otherwise)}, line);
    line = current().line;
  }
  return value;
}

ExpressionPtr ExpressionParser::logical_or() {
  ExpressionPtr left = logical_and();
  while (skip_name("or")) left = make(Binary{"or", std::move(left), logical_and()}, current().line);
  return left;
}

ExpressionPtr ExpressionParser::logical_and() {
  ExpressionPtr left = logical_not();
  while (skip_name("and")) left = make(Binary{"and", std::move(left), logical_not()}, current().line);
  return left;
}

ExpressionPtr ExpressionParser::logical_not() {
  const Level level(*this);
  const int line = current().line;
  if (skip_name("not")) return make(Unary{"not", logical_not()}, line);
  return comparison();
}

ExpressionPtr ExpressionParser::comparison() {
  const int line = current().line;
  ExpressionPtr first = sum();
  std::vector<std::pair<std::string, ExpressionPtr>> others;
  while (true) {
    const Token& token = current();
    if (token.kind == Token::Kind::symbol && std::ranges::find(comparisons, token.text) != std::end(comparisons)) {
      std::string operation = next().text;
      others.emplace_back(std::move(operation), sum());
    } else if (skip_name("in")) {
      others.emplace_back("in", sum());
    } else if (token.is_name("not") && following().is_name("in")) {
      next();
      next();
      others.emplace_back("not in", sum());
    } else {
      break;
    }
  }
  return others.empty() ? std::move(first) : make(Comparison{std::move(first), std::move(others)}, line);
}

ExpressionPtr ExpressionParser::sum() {
  ExpressionPtr left = concatenation();
  while (current().is_symbol("+") || current().is_symbol("-")) {
    const Token& sign = next();
    left = make(Binary{sign.text, std::move(left), concatenation()}, sign.line);
  }
  return left;
}

ExpressionPtr ExpressionParser::concatenation() {
  const int line = current().line;
  std::vector<ExpressionPtr> parts;
  do parts.push_back(product());
  while (skip_symbol("~"));
  return parts.size() == 1 ? std::move(parts.front()) : make(Concatenation{std::move(parts)}, line);
}

ExpressionPtr ExpressionParser::product() {
  ExpressionPtr left = power();
  while (current().is_symbol("*") || current().is_symbol("/") || current().is_symbol("//") ||
         current().is_symbol("%")) {
    const Token& sign = next();
    left = make(Binary{sign.text, std::move(left), power()}, sign.line);
  }
  return left;
}

ExpressionPtr ExpressionParser::power() {
  ExpressionPtr left = unary();
  while (current().is_symbol("**")) {
    const int line = next().line;
    left = make(Binary{"**", std::move(left), unary()}, line);
  }
  return left;
}

ExpressionPtr ExpressionParser::unary(bool with_filters) {
  const Level level(*this);
  ExpressionPtr object;
  if (current().is_symbol("-") || current().is_symbol("+")) {
    const Token& sign = next();
    object = make(Unary{sign.text, unary(false)}, sign.line);
  } else {
    object = primary();
  }
  object = postfix(std::move(object));
  return with_filters ? filters_and_tests(std::move(object)) : std::move(object);
}

ExpressionPtr ExpressionParser::primary() {
  const Token& token = current();
  const std::string& text = token.text;
  switch (token.kind) {
    case Token::Kind::name:
      next();
      if (text == "true" || text == "True") return make(Constant{true}, token.line);
      if (text == "false" || text == "False") return make(Constant{false}, token.line);
      if (text == "none" || text == "None") return make(Constant{}, token.line);
      return make(Name{text}, token.line);
    case Token::Kind::text: {
      std::string all;
      while (current().kind == Token::Kind::text) all += next().text;
      return make(Constant{Value(std::move(all))}, token.line);
    }
    case Token::Kind::integer: next(); return make(Constant{token.integer}, token.line);
    case Token::Kind::floating: next(); return make(Constant{token.floating}, token.line);
    default: break;
  }
  if (token.is_symbol("[")) return list_literal();
  if (token.is_symbol("{")) return dictionary_literal();
  if (!skip_symbol("(")) refuse(fmt::format("{} was not expected", in_quotes(text)));
  ExpressionPtr inside = tuple(true, true);
  expect_symbol(")");
  return inside;
}

ExpressionPtr ExpressionParser::tuple(bool conditions, bool parentheses) {
  const int line = current().line;
  std::vector<ExpressionPtr> items;
  bool is_tuple = false;
  const auto at_end = [&] {
    return current().kind == Token::Kind::variable_end || current().kind == Token::Kind::block_end ||
           current().is_symbol(")");
  };
  while (!at_end()) {
    items.push_back(expression(conditions));
    if (!skip_symbol(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && items.empty() && !parentheses) refuse("an expression is missing");
  return !is_tuple && !items.empty() ? std::move(items.front()) : make(SequenceLiteral{std::move(items), true}, line);
}

ExpressionPtr ExpressionParser::list_literal() {
  const int line = next().line;
  std::vector<ExpressionPtr> items;
  while (!current().is_symbol("]")) {
    items.push_back(expression());
    if (!current().is_symbol("]")) expect_symbol(",");
  }
  next();
  return make(SequenceLiteral{std::move(items), false}, line);
}

ExpressionPtr ExpressionParser::dictionary_literal() {
  const int line = next().line;
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
  while (!current().is_symbol("}")) {
    ExpressionPtr key = expression();
    expect_symbol(":");
    items.emplace_back(std::move(key), expression());
    if (!current().is_symbol("}")) expect_symbol(",");
  }
  next();
  return make(DictionaryLiteral{std::move(items)}, line);
}

ExpressionPtr ExpressionParser::postfix(ExpressionPtr object) {
  while (true) {
    if (current().is_symbol(".") || current().is_symbol("["))
      object = subscript(std::move(object));
    else if (current().is_symbol("("))
      object = call(std::move(object));
    else
      return object;
  }
}

ExpressionPtr ExpressionParser::filters_and_tests(ExpressionPtr object) {
  while (true) {
    if (current().is_symbol("|"))
      object = filters(std::move(object), false);
    else if (current().is_name("is"))
      object = test(std::move(object));
    else if (current().is_symbol("("))
      object = call(std::move(object));
    else
      return object;
  }
}

ExpressionPtr ExpressionParser::subscript(ExpressionPtr object) {
  const int line = current().line;
  if (skip_symbol(".")) {
    if (current().kind == Token::Kind::integer) {
      ExpressionPtr index = make(Constant{next().integer}, line);
      return make(Item{std::move(object), std::move(index)}, line);
    }
    return make(Attribute{std::move(object), expect_any_name()}, line);
  }
  next();
  ExpressionPtr parts[3];
  bool slice = false;
  const auto at_end = [&] { return current().is_symbol("]") || current().is_symbol(":"); };
  if (!at_end()) parts[0] = expression();
  for (int i = 1; i < 3 && skip_symbol(":"); ++i) {
    slice = true;
    if (!at_end()) parts[i] = expression();
  }
  if (current().is_symbol(",")) refuse("items of several indices are not supported");
  expect_symbol("]");
  if (slice) return make(Slice{std::move(object), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])}, line);
  if (!parts[0]) refuse("an index is missing");
  return make(Item{std::move(object), std::move(parts[0])}, line);
}

ArgumentList ExpressionParser::arguments() {
  ArgumentList list;
  expect_symbol("(");
  while (!current().is_symbol(")")) {
    if (current().is_symbol("*") || current().is_symbol("**"))
      refuse(fmt::format("arguments with '{}' are not supported", current().text));
    if (current().kind == Token::Kind::name && following().is_symbol("=")) {
      std::string name = next().text;
      next();
      list.named.emplace_back(std::move(name), expression());
    } else {
      if (!list.named.empty()) refuse("an argument without a name comes behind one with a name");
      list.positional.push_back(expression());
    }
    if (!current().is_symbol(")")) expect_symbol(",");
  }
  next();
  return list;
}

ExpressionPtr ExpressionParser::call(ExpressionPtr function) {
  const int line = current().line;
  ArgumentList list = arguments();
  return make(Call{std::move(function), std::move(list)}, line);
}

std::string ExpressionParser::dotted_name() {
  std::string name = expect_any_name();
  while (skip_symbol(".")) name += "." + expect_any_name();
  return name;
}

ExpressionPtr ExpressionParser::filters(ExpressionPtr object, bool first_has_no_bar) {
  while (first_has_no_bar || skip_symbol("|")) {
    const int line = current().line;
    std::string name = dotted_name();
    ArgumentList list = current().is_symbol("(") ? arguments() : ArgumentList();
    object = make(Filter{std::move(object), std::move(name), std::move(list)}, line);
    first_has_no_bar = false;
  }
  return object;
}

ExpressionPtr ExpressionParser::test(ExpressionPtr object) {
  const int line = next().line;
  const bool negated = skip_name("not");
  std::string name = dotted_name();
  ArgumentList list;
  const Token& token = current();
  const bool word =
      token.kind == Token::Kind::name && token.text != "else" && token.text != "or" && token.text != "and";
  if (token.is_symbol("(")) {
    list = arguments();
  } else if (word || token.kind == Token::Kind::text || token.kind == Token::Kind::integer ||
             token.kind == Token::Kind::floating || token.is_symbol("[") || token.is_symbol("{")) {
    if (token.is_name("is")) refuse("a test can't be tested; put it into parentheses");
    list.positional.push_back(postfix(primary()));
  }
  ExpressionPtr result = make(Test{std::move(object), std::move(name), std::move(list)}, line);
  return negated ? make(Unary{"not", std::move(result)}, line) : std::move(result);
}

}  // namespace vkformer::jinja
