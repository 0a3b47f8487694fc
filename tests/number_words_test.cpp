// Numbers in words, and which of them a corpus trains on.

#include "models/data/number_words.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/data/number_split.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using NumberPart = NumberSplit::Part;

std::vector<int64_t> numbers_of(const NumberSplit& split, NumberPart part) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < split.size(part); ++i) numbers.push_back(split.number(part, i));
  return numbers;
}

/// Those of all parts, one part behind the other.
std::vector<int64_t> all_numbers(const NumberSplit& split) {
  std::vector<int64_t> all;
  for (const NumberPart part : {NumberPart::train, NumberPart::valid, NumberPart::test})
    for (const int64_t number : numbers_of(split, part)) all.push_back(number);
  return all;
}

std::vector<int64_t> ascending(std::vector<int64_t> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

std::string split_refusal(const NumberSplit::Settings& settings) {
  return error_of([&] { NumberSplit split(settings); });
}

}  // namespace

TEST_CASE("numbers have the words that people use", "[numbers]") {
  const struct {
    const char* locale;
    int64_t number;
    const char* words;
  } cases[] = {
      {"en", 0, "zero"},
      {"en", -21, "minus twenty-one"},
      {"en", 1234567, "one million two hundred thirty-four thousand five hundred sixty-seven"},
      {"de", 123, "einhundertdreiundzwanzig"},
      {"de", 987654, "neunhundertsiebenundachtzigtausendsechshundertvierundfünfzig"},
      {"fr", 91, "quatre-vingt-onze"},
      {"fr", 1999, "mille neuf cent quatre-vingt-dix-neuf"},
      {"it", 123, "centoventitré"},
      {"sv", 123, "etthundratjugotre"},
      {"th", 21, "ยี่สิบเอ็ด"},
      {"zh", 123, "一百二十三"},
      {"zh-Hant", 10000, "一萬"},
  };
  for (const auto& [locale, number, words] : cases) {
    CAPTURE(locale, number);
    const NumberWords language(locale);
    CHECK(language.spell(number) == words);
    CHECK(language.parse(words) == number);
  }
}

TEST_CASE("the words of 0 to 9999 are read back as those numbers", "[numbers]") {
  for (const char* locale : {"en", "de"}) {
    const NumberWords words(locale);
    std::vector<std::string> wrong;
    for (int64_t number = 0; number <= 9999; ++number)
      if (const std::string text = words.spell(number); words.parse(text) != number) wrong.push_back(text);
    CAPTURE(locale);
    CHECK(wrong.empty());
  }
}

TEST_CASE("a text that is not all number words is no number", "[numbers]") {
  const NumberWords en("en");
  for (const char* text : {"", "one two", "twenty-one!", "einundzwanzig", "one point five", " one", "\xff", "12",
                           "first", "twenty one", "nineteen ninety-nine"}) {
    CAPTURE(text);
    CHECK(en.parse(text) == std::nullopt);
  }
}

// ICU itself gives the words of the environment's language, of a related one, or digits.
TEST_CASE("languages and numbers without words are refused", "[numbers]") {
  for (const char* locale : {"gl", "ht", "xx", "klingon", "und", "root", "", "../en", "en@numbers=arab"}) {
    CAPTURE(locale);
    CHECK_THAT(error_of([&] { NumberWords words(locale); }),
               ContainsSubstring(fmt::format("language \"{}\"; it has them for en, de", locale)));
  }
  CHECK_THAT(error_of([] { NumberWords("en").spell(int64_t{1} << 62); }), ContainsSubstring("no words for 4611686"));
}

TEST_CASE("every number is in one part, small ones in training", "[numbers]") {
  for (const int64_t last : {9, 10, 63, 999, 9999}) {
    CAPTURE(last);
    const NumberSplit split({.last = last});
    std::vector<int64_t> expected;
    for (int64_t number = 0; number <= last; ++number) expected.push_back(number);
    CHECK(ascending(all_numbers(split)) == expected);
    const int64_t small = std::min<int64_t>(100, last / 10);
    for (const NumberPart part : {NumberPart::valid, NumberPart::test}) {
      CHECK(split.size(part) == std::min<int64_t>(1000, (last + 1) / 10));
      CHECK(std::ranges::min(numbers_of(split, part)) >= small);
    }
  }
}

TEST_CASE("the seed alone decides the split, and test numbers stay", "[numbers]") {
  const NumberSplit split({.seed = 7});
  CHECK(all_numbers(split) == all_numbers(NumberSplit({.seed = 7})));
  const auto test = numbers_of(split, NumberPart::test);
  CHECK(test != numbers_of(NumberSplit({.seed = 8}), NumberPart::test));
  CHECK(test == numbers_of(NumberSplit({.train = 500, .valid = 3, .seed = 7}), NumberPart::test));
}

TEST_CASE("fewer training numbers are drawn evenly", "[numbers]") {
  const NumberSplit split({.last = 999'999'999'999, .train = 20'000});
  auto all = ascending(all_numbers(split));
  CHECK(all.size() == 22'000);
  CHECK(std::ranges::adjacent_find(all) == all.end());
  CHECK(all.back() <= 999'999'999'999);
  std::vector<int> tenths(10);
  for (const int64_t number : numbers_of(split, NumberPart::train))
    ++tenths[static_cast<size_t>(number / 100'000'000'000)];
  // Of 19,900 draws a tenth is 1990 with a standard deviation of 42.
  for (size_t i = 1; i < tenths.size(); ++i) CHECK(std::abs(tenths[i] - 1990) < 210);
}

TEST_CASE("a split without training numbers is refused", "[numbers]") {
  CHECK_THAT(split_refusal({.last = 999, .valid = 500, .test = 401}),
             ContainsSubstring("leave none of the 901 from 99 to 999"));
  CHECK_THAT(split_refusal({.train = 99}),
             ContainsSubstring("99 training numbers are too few: the 100 numbers below 100"));
  CHECK(split_refusal({.last = 999, .train = 100, .valid = 500, .test = 400}).empty());
}
