// What "is" asks.

#include <map>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/filters.h"
#include "models/chat/jinja/operations.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::jinja {

namespace {

using TestFunction = bool (*)(Budget&, const Value& object, const Value* argument);

/// The rest of a division of numbers.
double rest_of(Budget& budget, const Value& value, const Value& by) {
  check(value.is_undefined() || value.is_number(), "a test of numbers takes no {}", type_name(value));
  return arithmetic(budget, "%", value, by).number();
}

bool is_sequence(const Value& value) {
  return value.is_undefined() || value.is_text() || value.is_dictionary() ||
         (value.is<Sequence>() && value.as<Sequence>().kind <= Sequence::Kind::range);
}

bool is_iterable(const Value& value) {
  return is_sequence(value) || value.is<Sequence>() || value.is<std::shared_ptr<Iterator>>() ||
         value.is<std::shared_ptr<const Loop>>();
}

bool same(Budget&, const Value& object, const Value* other) {
  const bool one_of_a_kind = object.is_none() || object.is<bool>() || other->is_none() || other->is<bool>();
  check(one_of_a_kind, "the test 'sameas' is only supported for true, false and none");
  return object.content().index() == other->content().index() && equal(object, *other);
}

template <CharacterClass which>
bool is_case(Budget& budget, const Value& object, const Value*) {
  return all_are(text_of(budget, object), which);
}

struct TestRow {
  TestFunction test;
  bool argument = false;
};

const std::map<std::string_view, TestRow>& plain_tests() {
  static const std::map<std::string_view, TestRow> tests = {
      {"defined", {[](Budget&, const Value& of, const Value*) { return !of.is_undefined(); }}},
      {"undefined", {[](Budget&, const Value& of, const Value*) { return of.is_undefined(); }}},
      {"none", {[](Budget&, const Value& of, const Value*) { return of.is_none(); }}},
      {"boolean", {[](Budget&, const Value& of, const Value*) { return of.is<bool>(); }}},
      {"true", {[](Budget&, const Value& of, const Value*) { return of.is<bool>() && of.as<bool>(); }}},
      {"false", {[](Budget&, const Value& of, const Value*) { return of.is<bool>() && !of.as<bool>(); }}},
      {"integer", {[](Budget&, const Value& of, const Value*) { return of.is<int64_t>(); }}},
      {"float", {[](Budget&, const Value& of, const Value*) { return of.is<double>(); }}},
      {"number", {[](Budget&, const Value& of, const Value*) { return of.is_number(); }}},
      {"string", {[](Budget&, const Value& of, const Value*) { return of.is_text(); }}},
      {"mapping", {[](Budget&, const Value& of, const Value*) { return of.is_dictionary(); }}},
      {"sequence", {[](Budget&, const Value& of, const Value*) { return is_sequence(of); }}},
      {"iterable", {[](Budget&, const Value& of, const Value*) { return is_iterable(of); }}},
      {"callable", {[](Budget&, const Value& of, const Value*) {
         check(!of.is<std::shared_ptr<const Loop>>(), "the test 'callable' of a loop is not supported");
         return of.is<std::shared_ptr<const Callable>>() || of.is_undefined();
       }}},
      {"odd", {[](Budget& budget, const Value& of, const Value*) { return rest_of(budget, of, int64_t{2}) == 1; }}},
      {"even", {[](Budget& budget, const Value& of, const Value*) { return rest_of(budget, of, int64_t{2}) == 0; }}},
      {"divisibleby",
       {[](Budget& budget, const Value& of, const Value* by) { return rest_of(budget, of, *by) == 0; }, true}},
      {"upper", {is_case<CharacterClass::upper>}},
      {"lower", {is_case<CharacterClass::lower>}},
      {"sameas", {same, true}},
  };
  return tests;
}

/// The tests that are comparisons.
std::string_view comparison_of(std::string_view name) {
  static const std::map<std::string_view, std::string_view> names = {
      {"eq", "=="},         {"equalto", "=="}, {"==", "=="}, {"ne", "!="}, {"!=", "!="}, {"lt", "<"},
      {"<", "<"},           {"lessthan", "<"}, {"le", "<="}, {"<=", "<="}, {"gt", ">"},  {">", ">"},
      {"greaterthan", ">"}, {"ge", ">="},      {">=", ">="}, {"in", "in"},
  };
  const auto found = names.find(name);
  return found == names.end() ? std::string_view() : found->second;
}

}  // namespace

bool apply_test(Budget& budget, const std::string& name, const Value& object, const Arguments& arguments) {
  budget.step();
  const std::string what = "test '" + name + "'";
  if (const std::string_view operation = comparison_of(name); !operation.empty())
    return compare(budget, std::string(operation), object, Parameters(what, arguments, {"other"}).required(0));
  const auto found = plain_tests().find(name);
  check(found != plain_tests().end(), "the test {} is not supported", in_quotes(name));
  if (!found->second.argument) {
    Parameters(what, arguments, {});
    return found->second.test(budget, object, nullptr);
  }
  return found->second.test(budget, object, &Parameters(what, arguments, {"other"}).required(0));
}

}  // namespace vkformer::jinja
