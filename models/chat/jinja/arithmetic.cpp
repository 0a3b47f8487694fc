// Sums, products and the like, as Python has them.

#include <algorithm>
#include <cmath>

#include "models/chat/jinja/operations.h"
#include "runtime/check.h"

namespace vkformer::jinja {

namespace {

std::string repeated(Budget& budget, const std::string& text, int64_t times) {
  if (times <= 0 || text.empty()) return {};
  check(times <= Budget::most_bytes / std::ssize(text), "a text of {} bytes can't be repeated {} times", text.size(),
        times);
  budget.make(text.size() * static_cast<size_t>(times));
  std::string result;
  for (int64_t i = 0; i < times; ++i) result += text;
  return result;
}

Value repeated(Budget& budget, const Value& sequence, int64_t times) {
  const Values& items = sequence.items();
  times = items.empty() ? 0 : std::max<int64_t>(times, 0);
  check(items.empty() || times <= Budget::most_bytes / std::ssize(items),
        "a list of {} items can't be repeated {} times", items.size(), times);
  budget.make(items.size() * static_cast<size_t>(times) * sizeof(Value));
  Values result;
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  return Value::sequence(sequence.as<Sequence>().kind, std::move(result));
}

Value power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (bool overflow = false; exponent > 0; exponent >>= 1) {
    if (exponent & 1) overflow = __builtin_mul_overflow(result, base, &result);
    check(!overflow, "an integer has more than 64 bits");
    if (exponent > 1) {
      // Zero, one and minus one stay small however large the exponent is.
      overflow = __builtin_mul_overflow(base, base, &base);
      check(!overflow, "an integer has more than 64 bits");
    }
  }
  return result;
}

Value integers(const std::string& operation, int64_t a, int64_t b) {
  int64_t result = 0;
  bool overflow = false;
  if (operation == "+") overflow = __builtin_add_overflow(a, b, &result);
  if (operation == "-") overflow = __builtin_sub_overflow(a, b, &result);
  if (operation == "*") overflow = __builtin_mul_overflow(a, b, &result);
  if (operation == "//" || operation == "%") {
    overflow = b == -1 && a == INT64_MIN;
    if (!overflow) {
      const int64_t rest = a % b;
      const bool below = rest != 0 && (rest < 0) != (b < 0);
      result = operation == "%" ? rest + (below ? b : 0) : a / b - (below ? 1 : 0);
    }
  }
  check(!overflow, "an integer has more than 64 bits");
  return operation == "**" ? power(a, b) : Value(result);
}

Value floats(const std::string& operation, double a, double b) {
  if (operation == "+") return a + b;
  if (operation == "-") return a - b;
  if (operation == "*") return a * b;
  if (operation == "/") return a / b;
  if (operation == "**") {
    check(a >= 0 || b == std::floor(b), "the power of a negative number is no real number");
    return std::pow(a, b);
  }
  // Python's float_divmod: the rest has the sign of b.
  double rest = std::fmod(a, b), quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((rest < 0) != (b < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (operation == "%") return rest;
  const double whole = std::floor(quotient);
  return quotient == 0 ? std::copysign(0.0, a / b) : whole + (quotient - whole > 0.5 ? 1 : 0);
}

}  // namespace

Value arithmetic(Budget& budget, const std::string& operation, const Value& a, const Value& b) {
  check_defined(a);
  check_defined(b);
  if (a.is_number() && b.is_number()) {
    const bool divides = operation == "/" || operation == "//" || operation == "%";
    const bool negative_power = operation == "**" && b.number() < 0;
    check(b.number() != 0 || !divides, "a division by zero");
    check(a.number() != 0 || !negative_power, "a division by zero");
    const bool whole = a.is_integer() && b.is_integer() && operation != "/" && !negative_power;
    return whole ? integers(operation, a.integer(), b.integer()) : floats(operation, a.number(), b.number());
  }
  if (operation == "+" && a.is_text() && b.is_text()) {
    budget.make(a.text().size() + b.text().size());
    return a.text() + b.text();
  }
  if (operation == "+" && ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple()))) {
    budget.make((a.items().size() + b.items().size()) * sizeof(Value));
    Values items = a.items();
    items.insert(items.end(), b.items().begin(), b.items().end());
    return Value::sequence(a.as<Sequence>().kind, std::move(items));
  }
  if (operation == "*" && (a.is_integer() || b.is_integer())) {
    const Value& value = a.is_integer() ? b : a;
    const int64_t times = (a.is_integer() ? a : b).integer();
    if (value.is_text()) return repeated(budget, value.text(), times);
    if (value.is_list() || value.is_tuple()) return repeated(budget, value, times);
  }
  check(operation != "%" || !a.is_text(), "formatting a text with % is not supported");
  fail("'{}' of {} and {}", operation, type_name(a), type_name(b));
}

Value negated(const Value& value) {
  check_defined(value);
  check(value.is_number(), "a {} has no sign", type_name(value));
  if (value.is<double>()) return -value.as<double>();
  return integers("-", 0, value.integer());
}

}  // namespace vkformer::jinja
