#pragma once
// Runs a template's tree.

#include <map>

#include "models/chat/jinja/budget.h"
#include "models/chat/jinja/syntax.h"

namespace vkformer::jinja {

/// The variables of a body, around which lie others.
struct Scope {
  std::shared_ptr<Scope> around;
  std::map<std::string, Value, std::less<>> variables;
};

/// Bytes of the output.
struct TextSpan {
  size_t begin = 0, end = 0;
};

class Evaluator {
 public:
  using Variables = std::vector<std::pair<std::string, Value>>;
  /// `budget` and the body that run() gets must outlive it.
  Evaluator(Budget& budget, Variables variables);
  ~Evaluator();

  /// Throws Error, without the template's name; line() is then where.
  void run(const Body& body);
  const std::string& output() const { return output_; }
  /// What {% generation %} marks.
  const std::vector<TextSpan>& generated() const { return generated_; }
  int line() const { return line_; }

 private:
  enum class Flow : uint8_t { on, break_loop, continue_loop };

  Flow execute(const Body& body);
  /// In a scope of its own; returns what it writes.
  std::string caught(const Body& body);
  Flow execute(const Data& data);
  Flow execute(const Output& output);
  Flow execute(const If& statement);
  Flow execute(const For& statement);
  Flow execute(const Assign& statement);
  Flow execute(const AssignBlock& statement);
  Flow execute(const Macro& statement);
  Flow execute(const CallBlock& statement);
  Flow execute(const FilterBlock& statement);
  Flow execute(const With& statement);
  Flow execute(const Generation& statement);
  Flow execute(const Break&) { return Flow::break_loop; }
  Flow execute(const Continue&) { return Flow::continue_loop; }

  Value evaluate(const Expression& expression);
  Value evaluate(const Constant& form) { return form.value; }
  Value evaluate(const Name& form);
  Value evaluate(const Caught&) { return caught_; }
  Value evaluate(const SequenceLiteral& form);
  Value evaluate(const DictionaryLiteral& form);
  Value evaluate(const Unary& form);
  Value evaluate(const Binary& form);
  Value evaluate(const Comparison& form);
  Value evaluate(const Concatenation& form);
  Value evaluate(const Conditional& form);
  Value evaluate(const Attribute& form);
  Value evaluate(const Item& form);
  Value evaluate(const Slice& form);
  Value evaluate(const Call& form);
  Value evaluate(const Filter& form);
  Value evaluate(const Test& form);
  Arguments evaluate(const ArgumentList& list);
  Value filtered(const ExpressionPtr& filters, std::string text);

  void write(std::string_view text);
  void assign(const Target& target, Value value);
  Value* find(std::string_view name);
  Value callable_of(const Macro& macro);
  Value call_macro(const Macro& macro, std::shared_ptr<Scope> around, const Arguments& arguments);
  Value make_namespace(const Arguments& arguments);
  void add_functions();

  Budget& budget_;
  std::shared_ptr<Scope> scope_;
  std::string output_;
  std::string* target_ = &output_;  ///< what is written to at present
  Value caught_;
  std::vector<TextSpan> generated_;
  std::vector<std::shared_ptr<Namespace>> namespaces_;  ///< all: they may hold each other
  int line_ = 1;
};

}  // namespace vkformer::jinja
