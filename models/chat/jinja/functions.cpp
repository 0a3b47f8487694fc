// The functions that every template has: Jinja's and those that transformers adds.

#include <cstdlib>
#include <ctime>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/evaluator.h"
#include "models/chat/jinja/operations.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/host/machine.h"

namespace vkformer::jinja {

namespace {

/// The sandbox's limit.
constexpr int64_t longest_range = 100'000;

Value range(Budget& budget, const Arguments& arguments) {
  const Parameters given("range", arguments, {"start", "stop", "step"});
  const bool two = given.find(1) != nullptr;
  const int64_t begin = two ? given.integer(0) : 0, end = given.integer(two ? 1 : 0), step = given.integer_or(2, 1);
  check(step != 0, "the step of a range is 0");
  Values items;
  for (int64_t at = begin; step > 0 ? at < end : at > end;) {
    check(std::ssize(items) < longest_range, "a range of more than {} numbers is refused", longest_range);
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  budget.make(items.size() * sizeof(Value));
  return Value::sequence(Sequence::Kind::range, std::move(items));
}

Value dict(const Arguments& arguments) {
  check(arguments.positional.empty(), "dict() of a value is not supported; give names");
  std::vector<std::pair<Value, Value>> items;
  for (const auto& [name, value] : arguments.named) items.emplace_back(Value(name), value);
  return Value::dictionary(std::move(items));
}

Value strftime_now(const Arguments& arguments) {
  std::string format = Parameters("strftime_now", arguments, {"format"}).text(0);
  check(format.size() <= 200, "strftime_now: a format of {} bytes is too long", format.size());
  const std::tm local = host::local_time(std::time(nullptr));
  for (size_t at = format.find('%'); at != format.npos; at = format.find('%', at + 2)) {
    check(at + 1 < format.size() &&
              std::string_view("aAbBcdHIjmMpSUwWxXyYzZ%efFTDRk").find(format[at + 1]) != std::string::npos,
          "strftime_now: the format {} is not supported", in_quotes(format));
    // Not every C library knows these two; by none of them %f is more than itself.
    if (format[at + 1] == 'k') format.replace(at, 2, fmt::format("{:2}", local.tm_hour));
    if (format[at + 1] == 'f') format.insert(at, "%");
  }
  char text[4096];
  return std::string(text, std::strftime(text, sizeof text, format.c_str(), &local));
}

Value raise_exception(const Arguments& arguments) {
  const std::string message = to_text(Parameters("raise_exception", arguments, {"message"}).required(0));
  fail("the template refuses this conversation: {}", printable(message, 300));
}

}  // namespace

Value Evaluator::make_namespace(const Arguments& arguments) {
  check(arguments.positional.size() <= 1, "namespace() takes names and at most one dictionary");
  auto made = std::make_shared<Namespace>();
  const auto set = [&](const std::string& name, const Value& value) {
    budget_.make(sizeof(Value) + name.size());
    made->attributes[name] = value;
  };
  for (const Value& given : arguments.positional) {
    check(given.is_dictionary(), "namespace() takes names and a dictionary, no {}", type_name(given));
    for (const auto& [key, value] : given.dictionary().items)
      if (key.is_text()) set(key.text(), value);
  }
  for (const auto& [name, value] : arguments.named) set(name, value);
  budget_.make(sizeof(Namespace));
  namespaces_.push_back(made);
  return Value(std::move(made));
}

void Evaluator::add_functions() {
  const auto add = [&](const std::string& name, std::function<Value(const Arguments&)> function) {
    scope_->variables[name] = Value(std::make_shared<const Callable>(Callable{name, std::move(function), {}}));
  };
  add("range", [this](const Arguments& arguments) { return range(budget_, arguments); });
  add("dict", dict);
  add("namespace", [this](const Arguments& arguments) { return make_namespace(arguments); });
  add("raise_exception", raise_exception);
  add("strftime_now", strftime_now);
  for (const std::string name : {"cycler", "joiner", "lipsum"})
    add(name, [name](const Arguments&) -> Value { fail("the function '{}' is not supported", name); });
}

}  // namespace vkformer::jinja
