#include "models/constraint/integer_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace vkformer {

namespace {

constexpr int64_t largest = 999'999'999'999'999'999;

using Choices = std::vector<std::string>;

std::string digits(char first, char last) {
  return first == last ? fmt::format("\"{}\"", first) : fmt::format("[{}-{}]", first, last);
}
std::string any_digits(size_t count) {
  return count == 0 ? std::string() : count == 1 ? " [0-9]" : fmt::format(" [0-9]{{{}}}", count);
}

/// Numbers of as many digits, from `low` to `high`, with `front` before them.
void add_between(const std::string& low, const std::string& high, const std::string& front, Choices& choices) {
  const size_t behind = low.size() - 1;
  const std::string zeros(behind, '0'), nines(behind, '9');
  if (behind == 0 || (low.substr(1) == zeros && high.substr(1) == nines)) {
    choices.push_back(front + digits(low[0], high[0]) + any_digits(behind));
  } else if (low[0] == high[0]) {
    add_between(low.substr(1), high.substr(1), fmt::format("{}\"{}\" ", front, low[0]), choices);
  } else if (low.substr(1) != zeros) {
    add_between(low, low[0] + nines, front, choices);
    add_between(static_cast<char>(low[0] + 1) + zeros, high, front, choices);
  } else {
    add_between(low, static_cast<char>(high[0] - 1) + nines, front, choices);
    add_between(high[0] + zeros, high, front, choices);
  }
}

/// Of numbers from 0 on.
void add_range(int64_t first, int64_t last, const std::string& front, Choices& choices) {
  while (first <= last) {
    const std::string low = fmt::to_string(first), most(low.size(), '9');
    const int64_t end = std::min(last, static_cast<int64_t>(std::stoll(most)));
    add_between(low, fmt::to_string(end), front, choices);
    first = end + 1;
  }
}

}  // namespace

std::string gbnf_of_integers(std::optional<int64_t> first, std::optional<int64_t> last) {
  const int64_t from = std::max(first.value_or(-largest), -largest), to = std::min(last.value_or(largest), largest);
  Choices choices;
  if (from < 0 && from <= to) add_range(std::max<int64_t>(-to, 1), -from, "\"-\" ", choices);
  add_range(std::max<int64_t>(from, 0), to, "", choices);
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : " | ") + choice;
  return text;
}

}  // namespace vkformer
