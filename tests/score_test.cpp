// Scores of texts and labels against numbers computed by hand, and against Python's own regular expressions.

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/score/bleu.h"
#include "models/score/chrf.h"
#include "models/score/labels.h"
#include "models/text/unicode.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Texts = std::vector<std::string>;

const Texts german = {"Ein Mann in einem blauen Hemd steht auf einer Leiter und putzt ein Fenster.",
                      "Zwei Frauen, die sich unterhalten, sitzen in einem Café.",
                      "Um 7.30 Uhr kostete das Brot 2,50 Euro.",
                      "„Guten Morgen“, sagte die Ärztin – und lächelte.",
                      "Der 12-jährige Junge läuft über die Straße.",
                      "Das Schild sagt: \"Kein Eingang!\""};
const Texts hurried = {"Ein Mann mit blauem Hemd steht auf einer Leiter und putzt das Fenster.",
                       "Zwei Frauen sitzen in einem Café und unterhalten sich.",
                       "Das Brot kostete um 7.30 Uhr 2,50 Euro.",
                       "„Guten Morgen“, sagte die Ärztin und lachte.",
                       "Der 12-jährige Junge rennt über die strasse.",
                       "Das Schild sagt: &quot;Kein Eingang!&quot;"};

double bleu_of(const Texts& references, const Texts& hypotheses) { return score_bleu(references, hypotheses).score; }
double chrf_of(const Texts& references, const Texts& hypotheses) { return score_chrf(references, hypotheses).score; }

}  // namespace

TEST_CASE("tokens of 13a", "[score]") {
  CHECK(tokenize_13a("").empty());
  CHECK(tokenize_13a(R"("It's 1,000.50 -- or 3-4, a-b.")") ==
        Texts{"\"", "It's", "1,000.50", "--", "or", "3", "-", "4", ",", "a-b", ".", "\""});
  CHECK(tokenize_13a("state-of-the-art 2020-21 -5") == Texts{"state-of-the-art", "2020", "-", "21", "-5"});
  CHECK(tokenize_13a("5. .5 5.x 1.5. a.b,c ...") ==
        Texts{"5", ".", ".", "5", "5", ".", "x", "1.5", ".", "a", ".", "b", ",", "c", ".", ".", "."});
  // A character that one match has taken is in no other.
  CHECK(tokenize_13a("x.,5") == Texts{"x", ".", ",5"});
  CHECK(tokenize_13a("&quot;a&quot; &amp;lt; &lt;b&gt; &amp; &nbsp;") ==
        Texts{"\"", "a", "\"", "<", "<", "b", ">", "&", "&", "nbsp", ";"});
  CHECK(tokenize_13a("<skipped>a<skipped> <ski<skipped>pped>") == Texts{"a", "<", "skipped", ">"});
  CHECK(tokenize_13a("a-\nb\nc") == Texts{"ab", "c"});
  CHECK(tokenize_13a(R"(a/b (x)[y]{z}@#$%^&*_|~`\;:?!+=<>)") ==
        Texts{"a", "/", "b", "(", "x", ")", "[", "y",  "]", "{", "z", "}", "@", "#", "$", "%",
              "^", "&", "*", "_", "|", "~", "`", "\\", ";", ":", "?", "!", "+", "=", "<", ">"});
  // Beyond ASCII nothing stands alone, and whitespace is Unicode's and Python's; U+200B is none.
  CHECK(tokenize_13a("naïve.Ä,ß €5 „a“ 日本。") == Texts{"naïve", ".", "Ä", ",", "ß", "€5", "„a“", "日本。"});
  CHECK(tokenize_13a("a\u00A0b\u3000c\u2009d\x1C"
                     "e\u200Bf\u2028") == Texts{"a", "b", "c", "d", "e\u200Bf"});
}

TEST_CASE("BLEU of a line computed by hand", "[score]") {
  // 5 of 5 words, 3 of 4 pairs, 1 of 3 triples; none of 2 quadruples, which counts as a half: (100 75 33.3 25)^(1/4)
  // = 50.
  const BleuScore bleu = score_bleu(Texts{"the cat sat on the mat"}, Texts{"the cat on the mat"});
  CHECK_THAT(bleu.brevity_penalty, WithinRel(std::exp(-0.2), 1e-12));
  CHECK_THAT(bleu.score, WithinRel(50 * std::exp(-0.2), 1e-12));
  CHECK(bleu.precisions[0] == 100);
  CHECK(bleu.precisions[1] == 75);
  CHECK_THAT(bleu.precisions[2], WithinRel(100.0 / 3, 1e-12));
  CHECK(bleu.precisions[3] == 25);
  CHECK(bleu.to_string() == "BLEU = 40.94 100.0/75.0/33.3/25.0 (BP = 0.819 ratio = 0.833 hyp_len = 5 ref_len = 6)");
  CHECK(bleu.signature == "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.x");
}

TEST_CASE("a word counts as often as the reference has it, and each empty order halves again", "[score]") {
  const BleuScore bleu = score_bleu(Texts{"the cat is on the mat"}, Texts{"the the the the the the the"});
  CHECK_THAT(bleu.precisions[0], WithinRel(100 * 2.0 / 7, 1e-12));
  CHECK_THAT(bleu.precisions[1], WithinRel(100 / (2 * 6.0), 1e-12));
  CHECK_THAT(bleu.precisions[2], WithinRel(100 / (4 * 5.0), 1e-12));
  CHECK_THAT(bleu.precisions[3], WithinRel(100 / (8 * 4.0), 1e-12));
  CHECK(bleu.brevity_penalty == 1);
}

TEST_CASE("scores of real sentences", "[score]") {
  const BleuScore bleu = score_bleu(german, hurried);
  CHECK_THAT(bleu.score, WithinRel(50.63460134315312, 1e-12));
  CHECK(bleu.to_string() == "BLEU = 50.63 85.2/60.0/44.9/37.2 (BP = 0.937 ratio = 0.938 hyp_len = 61 ref_len = 65)");
  CHECK_THAT(chrf_of(german, hurried), WithinRel(70.67706761914678, 1e-12));
  const BleuScore lower = score_bleu(german, hurried, true);
  CHECK_THAT(lower.score, WithinRel(52.45172964107323, 1e-12));
  CHECK(lower.signature == "nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:2.x");
  const ChrfScore lower_chrf = score_chrf(german, hurried, true);
  CHECK_THAT(lower_chrf.score, WithinRel(72.84342932334638, 1e-12));
  CHECK(lower_chrf.to_string() == "chrF2 = 72.84");
  CHECK(lower_chrf.signature == "nrefs:1|case:lc|eff:yes|nc:6|nw:0|space:no|version:2.x");
}

TEST_CASE("equal texts score 100, texts without a common word 0", "[score]") {
  CHECK_THAT(bleu_of(german, german), WithinRel(100.0, 1e-12));
  CHECK(chrf_of(german, german) == 100);
  const Texts other(german.size(), "xyz XYZ xyz XYZ xyz");
  CHECK(bleu_of(german, other) == 0);
  // One line at least must have four tokens, as sacrebleu has it.
  CHECK(bleu_of({"one two three", "four"}, {"one two three", "four"}) == 0);
  const BleuScore three = score_bleu(Texts{"one two three"}, Texts{"one two three"});
  CHECK(three.precisions[2] == 100);
  CHECK(three.remark() == " (0 because no hypothesis has four tokens)");
  CHECK(score_bleu(german, other).remark().empty());
  CHECK(score_bleu(german, german).remark().empty());
  CHECK_THAT(bleu_of({"one two three .", "four"}, {"one two three .", "four"}), WithinRel(100.0, 1e-12));
}

TEST_CASE("empty lines score 0 and divide nothing by 0", "[score]") {
  const BleuScore nothing = score_bleu(Texts{"one two three four"}, Texts{""});
  CHECK(nothing.score == 0);
  CHECK(nothing.brevity_penalty == 0);
  CHECK(score_bleu(Texts{""}, Texts{"one"}).ratio() == 0);
  CHECK(bleu_of({""}, {""}) == 0);
  CHECK(chrf_of({""}, {""}) == 0);
  CHECK(chrf_of({"one"}, {" "}) == 0);
  CHECK(chrf_of({"one"}, {"xyz"}) == 0);
}

TEST_CASE("what counts is which lines belong together, not their order", "[score]") {
  Texts references = german, hypotheses = hurried;
  std::reverse(references.begin(), references.end());
  CHECK(bleu_of(references, hypotheses) < bleu_of(german, hurried));
  CHECK(chrf_of(references, hypotheses) < chrf_of(german, hurried));
  std::reverse(hypotheses.begin(), hypotheses.end());
  CHECK(bleu_of(references, hypotheses) == bleu_of(german, hurried));
  CHECK(chrf_of(references, hypotheses) == chrf_of(german, hurried));
  // The order of words does count.
  CHECK(bleu_of({"one two three four five"}, {"two one three four five"}) < 70);
}

TEST_CASE("chrF2 computed by hand", "[score]") {
  // Of abcd, ab has 2 of 4 characters and 1 of 3 pairs: recall 5/12, precision 1.
  CHECK_THAT(chrf_of({"abcd"}, {"ab"}), WithinRel(100 * 25.0 / 53, 1e-12));
  CHECK_THAT(chrf_of({"ab"}, {"abcd"}), WithinRel(100 * 25.0 / 32, 1e-12));
  CHECK_THAT(chrf_of({"abc"}, {"abd"}), WithinRel(100 * 7.0 / 18, 1e-12));
  // The longer n-grams of the first line count for nothing: its reference has none. Precision (8/12 + 6/10 + 4)/6.
  const double precision = 79.0 / 90;
  CHECK_THAT(chrf_of({"ab", "abcdef"}, {"abcxyz", "abcdef"}),
             WithinRel(100 * 5 * precision / (4 * precision + 1), 1e-12));
  // Characters, not bytes; and no whitespace of any kind.
  CHECK(chrf_of({"äöüß"}, {"éèàñ"}) == 0);
  CHECK(chrf_of({"a b\u3000c\u00A0d\te"}, {"abcde"}) == 100);
}

TEST_CASE("lower case is Python's", "[score]") {
  CHECK(lower_case("ÄÖÜ ẞ É \U00010400") == "äöü ß é \U00010428");
  CHECK(lower_case("ΟΔΟΣ Σ ΣΑ") == "οδος σ σα");
  CHECK(lower_case("İI") == "i\u0307i");
  CHECK_THAT(score_bleu(Texts{"ÄB CD ΣΑΣ EF"}, Texts{"äb cd σας ef"}, true).score, WithinRel(100.0, 1e-12));
  CHECK(score_chrf(Texts{"ÄB CD ΣΑΣ EF"}, Texts{"äb cd σας ef"}, true).score == 100);
  CHECK(bleu_of({"ÄB CD ΣΑΣ EF"}, {"äb cd σας ef"}) == 0);
}

TEST_CASE("labels: accuracy, F1 and who is taken for whom", "[score]") {
  const Texts references{"a", "a", "a", "b", "b", "c"}, hypotheses{"a", "a", "b", "b", "d", "c"};
  const LabelScores scores = score_labels(references, hypotheses);
  CHECK_THAT(scores.accuracy, WithinAbs(4.0 / 6, 1e-15));
  // a 0.8, b 0.5, c 1; d is only in the hypotheses, counts as 0 and does count.
  CHECK_THAT(scores.macro_f1, WithinAbs(2.3 / 4, 1e-15));
  REQUIRE(scores.labels.size() == 4);
  const LabelScore &a = scores.labels[0], &d = scores.labels[3];
  CHECK(a.label == "a");
  CHECK(a.precision() == 1);
  CHECK_THAT(a.recall(), WithinAbs(2.0 / 3, 1e-15));
  CHECK_THAT(a.f1(), WithinAbs(0.8, 1e-15));
  CHECK(a.support == 3);
  CHECK(d.support == 0);
  CHECK(d.predicted == 1);
  CHECK(d.precision() == 0);
  CHECK(d.recall() == 0);
  CHECK(d.f1() == 0);
  const int64_t table[4][4] = {{2, 1, 0, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {0, 0, 0, 0}};
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 4; ++column) CHECK(scores.count(row, column) == table[row][column]);
  // A label that is never predicted has no precision to divide by.
  CHECK(score_labels(Texts{"x", "y"}, Texts{"y", "y"}).labels[0].f1() == 0);
  CHECK(score_labels(references, references).macro_f1 == 1);
}

TEST_CASE("lines are equal byte for byte", "[score]") {
  CHECK(count_equal_lines(Texts{"a", "B", "", "c "}, Texts{"a", "b", "", "c"}) == 2);
}

TEST_CASE("scores need pairs of lines", "[score]") {
  CHECK_THAT(error_of([] { bleu_of({"a", "b"}, {"a"}); }), ContainsSubstring("2 references and 1 hypotheses"));
  CHECK_THAT(error_of([] { chrf_of({}, {}); }), ContainsSubstring("nothing to score"));
  CHECK_THAT(error_of([] { score_labels(Texts{"a"}, Texts{}); }), ContainsSubstring("1 references"));
  CHECK_THAT(error_of([] { count_equal_lines(Texts{}, Texts{"a"}); }), ContainsSubstring("0 references"));
}
