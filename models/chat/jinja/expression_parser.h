#pragma once
// Expressions of a template, with Jinja's precedence.

#include "models/chat/jinja/lexer.h"
#include "models/chat/jinja/syntax.h"

namespace vkformer::jinja {

/// Reads from a list of tokens. All throw Error, which begins with the template's name and a line.
class ExpressionParser {
 public:
  ExpressionParser(std::vector<Token> tokens, std::string name) : tokens_(std::move(tokens)), name_(std::move(name)) {}

 protected:
  [[noreturn]] void refuse(const std::string& problem) const;
  const Token& current() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next() { return tokens_[at_ < tokens_.size() - 1 ? at_++ : at_]; }
  bool skip_name(std::string_view name);
  bool skip_symbol(std::string_view symbol);
  void expect_name(std::string_view name);
  void expect_symbol(std::string_view symbol);
  std::string expect_any_name();
  void expect(Token::Kind kind);

  /// `conditions`: x if y else z may come.
  ExpressionPtr expression(bool conditions = true);
  /// One expression or, with commas, a tuple; `parentheses`: which may be empty.
  ExpressionPtr tuple(bool conditions = true, bool parentheses = false);
  ExpressionPtr primary();
  /// The filters from a | on or, at the begin of a block, from a name on.
  ExpressionPtr filters(ExpressionPtr object, bool first_has_no_bar);

  /// Throws Error where expressions or statements lie too deep in each other.
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.level_; }

   private:
    ExpressionParser& parser_;
  };

 private:
  template <class Form>
  ExpressionPtr make(Form form, int line) const;
  ExpressionPtr logical_or();
  ExpressionPtr logical_and();
  ExpressionPtr logical_not();
  ExpressionPtr comparison();
  ExpressionPtr sum();
  ExpressionPtr concatenation();
  ExpressionPtr product();
  ExpressionPtr power();
  ExpressionPtr unary(bool with_filters = true);
  ExpressionPtr postfix(ExpressionPtr object);
  ExpressionPtr filters_and_tests(ExpressionPtr object);
  ExpressionPtr subscript(ExpressionPtr object);
  ExpressionPtr call(ExpressionPtr function);
  ExpressionPtr test(ExpressionPtr object);
  ExpressionPtr list_literal();
  ExpressionPtr dictionary_literal();
  ArgumentList arguments();
  std::string dotted_name();

  std::vector<Token> tokens_;
  std::string name_;
  size_t at_ = 0;
  int level_ = 0;
};

}  // namespace vkformer::jinja
