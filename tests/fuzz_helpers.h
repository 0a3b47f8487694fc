#pragma once
// Damaged inputs, made from good ones by a seeded generator so that a failure repeats, and a tally of what became of
// them.

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/check.h"

namespace vkformer::testing {

/// Counts what became of the inputs, so that a test can tell that it tried both good and bad ones.
struct Tally {
  int read = 0;
  int refused = 0;
};

/// Anything but an Error leaves this function and fails the test.
template <class Action>
void attempt(Tally& tally, Action action) {
  try {
    action();
    ++tally.read;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    const bool one_line = !message.empty() && message.size() < 1000 && message.find_first_of("\r\n") == message.npos;
    if (!one_line) FAIL("no clear line: " << message);  // asserting each would take longer than reading the input
    ++tally.refused;
  }
}

/// A number in the environment, of long runs: VKFORMER_FUZZ as many times the usual inputs, VKFORMER_FUZZ_SEED others.
inline uint64_t fuzz_setting(const char* name, uint64_t usual) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : usual;
}
/// How many inputs to try, usually this many.
inline int tries(int usual) { return usual * static_cast<int>(fuzz_setting("VKFORMER_FUZZ", 1)); }

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed + 1000 * fuzz_setting("VKFORMER_FUZZ_SEED", 0)) {}

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  /// Flips, overwrites, cuts, doubles or removes bytes.
  std::string bytes(std::string text) {
    for (size_t round = 1 + below(4); round > 0 && !text.empty(); --round) {
      const size_t at = below(text.size());
      const size_t length = 1 + below(std::min<size_t>(text.size() - at, 20));
      switch (below(6)) {
        case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
        case 1: text[at] = static_cast<char>(below(256)); break;
        case 2: text.resize(at); break;
        case 3: text.insert(below(text.size()), text.substr(at, length)); break;
        case 4: text.erase(at, length); break;
        default: text.insert(at, tokens_[below(std::size(tokens_))]); break;
      }
    }
    return text;
  }

  /// Replaces, removes or adds values anywhere in a document.
  std::string values(nlohmann::json document) {
    for (size_t round = 1 + below(3); round > 0; --round) change(document);
    std::string text = document.dump();
    if (below(8) == 0) repeat_a_key(text);
    return text;
  }

 private:
  void change(nlohmann::json& value) {
    if (!value.is_structured() || value.empty() || below(12) == 0) {
      value = nlohmann::json::parse(tokens_[below(valid_tokens)]);
      return;
    }
    const auto child = std::next(value.begin(), static_cast<nlohmann::json::difference_type>(below(value.size())));
    switch (below(10)) {
      case 0: value.erase(child); break;
      case 1:
        if (value.is_array())
          value.push_back(*child);
        else
          value[std::string(1 + below(3), 'k') + "\xC2\xA9"] = *child;
        break;
      case 2: *child = value[child_key(value)]; break;
      default: change(*child);
    }
  }

  static nlohmann::json::json_pointer child_key(const nlohmann::json& value) {
    return nlohmann::json::json_pointer() / (value.is_array() ? std::string("0") : value.begin().key());
  }

  /// {"a": 1} becomes {"a":0,"a":1}.
  void repeat_a_key(std::string& text) {
    const size_t open = text.find('{', below(text.size()));
    const size_t colon = open == text.npos ? open : text.find(':', open);
    if (colon != text.npos) text.insert(open + 1, text.substr(open + 1, colon - open - 1) + ":0,");
  }

  static constexpr size_t valid_tokens = 18;
  static constexpr const char* tokens_[] = {"null", "true", "-1", "0", "1", "2.5", "1e300", "\"\"", "\"x\"", "[]", "{}",
                                            "[[]]", "9223372036854775807", "9223372036854775808",
                                            "18446744073709551615", "4611686018427387905", "4294967296",
                                            "[4294967296,4294967296,4294967296]",
                                            // from here on not JSON by themselves
                                            "1e999", "\"\\ud800\"", "\\u0000", "{{{{{{",
                                            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                                            "\xFF", "\xC3", "\xED\xA0\x80", "}", "]", ",", ":", "\"", "\n", "-", "NaN"};
  std::mt19937_64 random_;
};

}  // namespace vkformer::testing
