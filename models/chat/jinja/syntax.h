#pragma once
// A template as a tree, with the names of Jinja's own nodes where it has some.

#include "models/chat/jinja/value.h"

namespace vkformer::jinja {

struct Expression;
using ExpressionPtr = std::unique_ptr<const Expression>;
struct Statement;
using Body = std::vector<Statement>;

/// What a call, a filter or a test is given.
struct ArgumentList {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
};

struct Constant {
  Value value;
};
struct Name {
  std::string name;
};
/// The text that a filter block or a set block with filters has caught: what its filters begin with.
struct Caught {};
struct SequenceLiteral {
  std::vector<ExpressionPtr> items;
  bool tuple = false;
};
struct DictionaryLiteral {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> items;
};
/// "not", "-", "+".
struct Unary {
  std::string operation;
  ExpressionPtr operand;
};
/// "+", "-", "*", "/", "//", "%", "**", "and", "or".
struct Binary {
  std::string operation;
  ExpressionPtr left, right;
};
/// a < b <= c: "==", "!=", "<", "<=", ">", ">=", "in", "not in".
struct Comparison {
  ExpressionPtr first;
  std::vector<std::pair<std::string, ExpressionPtr>> others;
};
/// a ~ b ~ c
struct Concatenation {
  std::vector<ExpressionPtr> parts;
};
/// value if test else otherwise, which may be absent.
struct Conditional {
  ExpressionPtr test, value, otherwise;
};
/// object.name
struct Attribute {
  ExpressionPtr object;
  std::string name;
};
/// object[index]
struct Item {
  ExpressionPtr object, index;
};
/// object[begin:end:step], each of which may be absent.
struct Slice {
  ExpressionPtr object, begin, end, step;
};
struct Call {
  ExpressionPtr function;
  ArgumentList arguments;
};
/// object | name(arguments)
struct Filter {
  ExpressionPtr object;
  std::string name;
  ArgumentList arguments;
};
/// object is name(arguments)
struct Test {
  ExpressionPtr object;
  std::string name;
  ArgumentList arguments;
};

struct Expression {
  int line = 1;
  int depth = 1;  ///< levels of expressions in it, itself included
  std::variant<Constant, Name, Caught, SequenceLiteral, DictionaryLiteral, Unary, Binary, Comparison, Concatenation,
               Conditional, Attribute, Item, Slice, Call, Filter, Test>
      form;
};

/// What is assigned to: a name, an attribute of a namespace, or several of these.
struct Target {
  std::string name, attribute;
  std::vector<Target> parts;  ///< not empty: a tuple
};

struct Data {
  std::string text;
};
struct Output {
  ExpressionPtr value;
};
struct If {
  std::vector<std::pair<ExpressionPtr, Body>> branches;
  Body otherwise;
};
struct For {
  Target target;
  ExpressionPtr iterable, condition;  ///< the condition may be absent
  Body body, otherwise;
};
struct Assign {
  Target target;
  ExpressionPtr value;
};
/// {% set x %}..{% endset %}; the filters may be absent.
struct AssignBlock {
  Target target;
  ExpressionPtr filters;
  Body body;
};
struct Signature {
  std::vector<std::string> names;
  std::vector<ExpressionPtr> defaults;  ///< of the last names
};
struct Macro {
  std::string name;
  Signature signature;
  Body body;
};
/// {% call(x) f() %}..{% endcall %}: f's `caller` is the body.
struct CallBlock {
  Macro caller;
  ExpressionPtr call;
};
struct FilterBlock {
  ExpressionPtr filters;
  Body body;
};
struct With {
  std::vector<std::pair<Target, ExpressionPtr>> values;
  Body body;
};
/// {% generation %}: what an assistant wrote.
struct Generation {
  Body body;
};
struct Break {};
struct Continue {};

struct Statement {
  int line = 1;
  std::variant<Data, Output, If, For, Assign, AssignBlock, Macro, CallBlock, FilterBlock, With, Generation, Break,
               Continue>
      form;
};

}  // namespace vkformer::jinja
