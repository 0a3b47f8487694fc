// Errors of words and characters, against alignments known by hand and a plain recursion over all of them.

#include "models/score/word_errors.h"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "runtime/random.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Sentences = std::vector<std::string>;

/// Substitutions, deletions, insertions, words.
using ErrorCounts = std::array<int64_t, 4>;

ErrorCounts counts_of(const WordErrors& errors) {
  return {errors.substitutions, errors.deletions, errors.insertions, errors.words};
}

ErrorCounts word_counts(const Sentences& references, const Sentences& hypotheses) {
  return counts_of(count_word_errors(references, hypotheses));
}

ErrorCounts character_counts(const Sentences& references, const Sentences& hypotheses) {
  return counts_of(count_character_errors(references, hypotheses));
}

/// The least cost of what is left of two texts of one-letter words, by trying everything.
int64_t distance_by_trying(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::ssize(a) + std::ssize(b);
  const int64_t paired = distance_by_trying(a.substr(1), b.substr(1)) + (a[0] == b[0] ? 0 : 1);
  return std::min({paired, distance_by_trying(a.substr(1), b) + 1, distance_by_trying(a, b.substr(1)) + 1});
}

std::string with_blanks_between(const std::string& letters) {
  std::string text;
  for (const char letter : letters) text += std::string(1, letter) + ' ';
  return text;
}

}  // namespace

TEST_CASE("word errors of alignments known by hand", "[score]") {
  CHECK(word_counts({"the cat sat"}, {"the cat sat"}) == ErrorCounts{0, 0, 0, 3});
  CHECK(word_counts({"the cat sat on the mat"}, {"the cat sit on mat"}) == ErrorCounts{1, 1, 0, 6});
  CHECK(word_counts({"a b c"}, {"x a b c"}) == ErrorCounts{0, 0, 1, 3});
  CHECK(word_counts({"a b c d"}, {"b c d"}) == ErrorCounts{0, 1, 0, 4});
  CHECK(word_counts({"a b c"}, {"x y z"}) == ErrorCounts{3, 0, 0, 3});
  CHECK(word_counts({"kitten"}, {"sitting"}) == ErrorCounts{1, 0, 0, 1});
  // Two substitutions are as many errors as a deletion and an insertion, which leave b right.
  CHECK(word_counts({"a b"}, {"b c"}) == ErrorCounts{0, 1, 1, 2});
  // Case and punctuation count.
  CHECK(word_counts({"The cat."}, {"the cat"}) == ErrorCounts{2, 0, 0, 2});
}

TEST_CASE("words stand between Unicode's white space, of any amount", "[score]") {
  CHECK(word_counts({" a\u3000b\u00A0 c\t"}, {"a b c"}) == ErrorCounts{0, 0, 0, 3});
  CHECK(word_counts({"a b"}, {"a\u200Bb"}) == ErrorCounts{1, 1, 0, 2});
}

TEST_CASE("errors are summed over lines, not their rates", "[score]") {
  // Rates of 1 and 0.1 are a mean of 0.55.
  const WordErrors errors =
      count_word_errors(Sentences{"a", "0 1 2 3 4 5 6 7 8 9"}, Sentences{"b", "0 1 2 3 4 5 6 7 8"});
  CHECK(counts_of(errors) == ErrorCounts{1, 1, 0, 11});
  CHECK(errors.errors() == 2);
  CHECK_THAT(errors.rate(), WithinRel(2.0 / 11, 1e-15));
  // A line's words are never compared with another line's.
  CHECK(word_counts({"a", "b"}, {"b", "a"}) == ErrorCounts{2, 0, 0, 2});
}

TEST_CASE("empty lines are all deletions, or all insertions", "[score]") {
  CHECK(word_counts({"a b", "c"}, {"", " "}) == ErrorCounts{0, 3, 0, 3});
  CHECK(word_counts({"", "c"}, {"a b", "c"}) == ErrorCounts{0, 0, 2, 1});
  CHECK(count_word_errors(Sentences{"", "c"}, Sentences{"a b", "c"}).rate() == 2);
  CHECK(character_counts({"ab", ""}, {"", "cde"}) == ErrorCounts{0, 2, 3, 2});
  // Nothing to divide by: as of one word.
  CHECK(count_word_errors(Sentences{""}, Sentences{""}).rate() == 0);
  CHECK(count_word_errors(Sentences{"  "}, Sentences{"a b c"}).rate() == 3);
}

TEST_CASE("a rate may be above 1", "[score]") {
  const WordErrors errors = count_word_errors(Sentences{"yes"}, Sentences{"no no no no"});
  CHECK(counts_of(errors) == ErrorCounts{1, 0, 3, 1});
  CHECK(errors.rate() == 4);
}

TEST_CASE("character errors are of code points, blanks within a line too", "[score]") {
  CHECK(character_counts({"kitten"}, {"sitting"}) == ErrorCounts{2, 0, 1, 6});
  CHECK(character_counts({"Ärzte \U0001F600"}, {"Arzte \U0001F601"}) == ErrorCounts{2, 0, 0, 7});
  CHECK(character_counts({"ab cd"}, {"abcd"}) == ErrorCounts{0, 1, 0, 5});
  CHECK(character_counts({" ab\u3000"}, {"ab"}) == ErrorCounts{0, 0, 0, 2});
}

TEST_CASE("word errors are the fewest of all alignments, whichever side is the reference", "[score]") {
  for (uint64_t example = 0; example < 200; ++example) {
    std::string sides[2];
    for (uint32_t side = 0; side < 2; ++side) {
      const auto length = static_cast<size_t>(8 * uniform(1, side, 100 * example));
      for (size_t i = 0; i < length; ++i)
        sides[side] += static_cast<char>('a' + static_cast<int>(3 * uniform(1, side, 100 * example + 1 + i)));
    }
    CAPTURE(sides[0], sides[1]);
    const Sentences a{with_blanks_between(sides[0])}, b{with_blanks_between(sides[1])};
    const WordErrors errors = count_word_errors(a, b), reversed = count_word_errors(b, a);
    CHECK(errors.errors() == distance_by_trying(sides[0], sides[1]));
    CHECK(errors.deletions - errors.insertions == std::ssize(sides[0]) - std::ssize(sides[1]));
    CHECK(counts_of(reversed) ==
          ErrorCounts{errors.substitutions, errors.insertions, errors.deletions, std::ssize(sides[1])});
  }
}

TEST_CASE("a long line takes memory by its length", "[score]") {
  // A whole table of 10000 * 10000 would take 800 MB.
  std::string reference, hypothesis;
  for (int i = 0; i < 10000; ++i) {
    reference += static_cast<char>('a' + i % 7);
    hypothesis += static_cast<char>(i % 1000 == 0 ? 'x' : 'a' + i % 7);
  }
  CHECK(character_counts({reference}, {hypothesis + "yz"}) == ErrorCounts{10, 0, 2, 10000});
}

TEST_CASE("word errors need pairs of lines", "[score]") {
  CHECK_THAT(error_of([] {
               count_word_errors(Sentences{"a", "b"}, Sentences{"a"});
             }),
             ContainsSubstring("2 references"));
  CHECK_THAT(error_of([] { count_character_errors(Sentences{}, Sentences{}); }), ContainsSubstring("nothing to score"));
}
