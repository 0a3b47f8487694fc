#include "models/chat/jinja/parser.h"

#include <algorithm>

#include "models/chat/jinja/expression_parser.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

class StatementParser : ExpressionParser {
 public:
  using ExpressionParser::ExpressionParser;

  Body whole() {
    Body body = statements({});
    if (current().kind != Token::Kind::end) refuse("a tag was not expected");
    return body;
  }

 private:
  using Ends = std::vector<std::string_view>;

  /// Up to a block that begins with one of `ends`, whose name is then the current token.
  Body statements(const Ends& ends) {
    const Level level(*this);
    Body body;
    while (true) {
      const Token& token = next();
      switch (token.kind) {
        case Token::Kind::data: body.push_back({token.line, Data{token.text}}); break;
        case Token::Kind::variable_begin:
          body.push_back({token.line, Output{tuple()}});
          expect(Token::Kind::variable_end);
          break;
        case Token::Kind::block_begin:
          if (current().kind != Token::Kind::name) refuse("a tag has no name");
          if (std::ranges::find(ends, current().text) != ends.end()) return body;
          body.push_back(statement());
          expect(Token::Kind::block_end);
          break;
        default:
          if (!ends.empty()) refuse(fmt::format("'{}' is missing", ends.back()));
          return body;
      }
    }
  }

  /// The same behind the end of a tag.
  Body block(const Ends& ends) {
    skip_symbol(":");
    expect(Token::Kind::block_end);
    return statements(ends);
  }
  Body block_to(std::string_view end) {
    Body body = block({end});
    next();
    return body;
  }
  /// The same where a break would leave more than a loop's body.
  Body inner_block_to(std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    Body body = block_to(end);
    loops_ = loops;
    return body;
  }

  Statement statement() {
    const int line = current().line;
    const std::string tag = next().text;
    if (tag == "if") return {line, if_statement()};
    if (tag == "for") return {line, for_statement()};
    if (tag == "set") return set_statement(line);
    if (tag == "macro") return {line, macro()};
    if (tag == "call") return {line, call_block()};
    if (tag == "filter") return {line, filter_block()};
    if (tag == "with") return {line, with()};
    if (tag == "generation") return {line, Generation{inner_block_to("endgeneration")}};
    if (tag == "break" || tag == "continue") {
      if (loops_ == 0) refuse(fmt::format("'{}' outside of a loop", tag));
      if (tag == "break") return {line, Break{}};
      return {line, Continue{}};
    }
    refuse(fmt::format("the tag {} is not supported", in_quotes(tag)));
  }

  If if_statement() {
    If result;
    while (true) {
      ExpressionPtr test = tuple(false);
      result.branches.emplace_back(std::move(test), block({"elif", "else", "endif"}));
      const std::string tag = next().text;
      if (tag == "elif") continue;
      if (tag == "else") result.otherwise = block_to("endif");
      return result;
    }
  }

  For for_statement() {
    For result{.target = targets()};
    expect_name("in");
    result.iterable = tuple(false);
    if (skip_name("if")) result.condition = expression();
    if (current().is_name("recursive")) refuse("recursive loops are not supported");
    ++loops_;
    result.body = block({"endfor", "else"});
    --loops_;
    if (next().text == "else") result.otherwise = block_to("endfor");
    return result;
  }

  Statement set_statement(int line) {
    Target target = targets();
    if (skip_symbol("=")) return {line, Assign{std::move(target), tuple()}};
    ExpressionPtr applied;
    if (current().is_symbol("|")) applied = filters(caught(), false);
    Body body = inner_block_to("endset");
    return {line, AssignBlock{std::move(target), std::move(applied), std::move(body)}};
  }

  Macro macro() {
    Macro result{.name = expect_any_name()};
    result.signature = signature();
    result.body = inner_block_to("endmacro");
    return result;
  }

  CallBlock call_block() {
    CallBlock result;
    result.caller.name = "caller";
    if (current().is_symbol("(")) result.caller.signature = signature();
    result.call = expression();
    if (!std::holds_alternative<Call>(result.call->form)) refuse("a call is missing");
    result.caller.body = inner_block_to("endcall");
    return result;
  }

  FilterBlock filter_block() {
    FilterBlock result;
    result.filters = filters(caught(), true);
    result.body = inner_block_to("endfilter");
    return result;
  }

  With with() {
    With result;
    while (current().kind != Token::Kind::block_end) {
      if (!result.values.empty()) expect_symbol(",");
      Target target = targets();
      expect_symbol("=");
      result.values.emplace_back(std::move(target), expression());
    }
    result.body = inner_block_to("endwith");
    return result;
  }

  ExpressionPtr caught() const {
    return std::make_unique<const Expression>(Expression{.line = current().line, .form = Caught{}});
  }

  Signature signature() {
    Signature result;
    expect_symbol("(");
    while (!current().is_symbol(")")) {
      if (!result.names.empty()) expect_symbol(",");
      result.names.push_back(name_to_assign());
      if (skip_symbol("="))
        result.defaults.push_back(expression());
      else if (!result.defaults.empty())
        refuse("a parameter without a default comes behind one with a default");
    }
    next();
    return result;
  }

  std::string name_to_assign() {
    std::string name = expect_any_name();
    for (const std::string_view literal : {"true", "false", "none", "True", "False", "None"})
      if (name == literal) refuse(fmt::format("'{}' can't be assigned to", name));
    return name;
  }

  Target target() {
    const Level level(*this);
    if (skip_symbol("(")) {
      Target inside = targets();
      expect_symbol(")");
      return inside;
    }
    Target result{.name = name_to_assign()};
    if (skip_symbol(".")) result.attribute = expect_any_name();
    return result;
  }

  /// One or, with commas, several.
  Target targets() {
    Target first = target();
    if (!current().is_symbol(",")) return first;
    Target all;
    all.parts.push_back(std::move(first));
    while (skip_symbol(",") && (current().kind == Token::Kind::name || current().is_symbol("(")) &&
           !current().is_name("in"))
      all.parts.push_back(target());
    return all;
  }

  int loops_ = 0;  ///< around the present statement
};

}  // namespace

Body parse(std::string_view source, const std::string& name) {
  return StatementParser(tokens_of(source, name), name).whole();
}

}  // namespace vkformer::jinja
