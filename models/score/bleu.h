#pragma once
// Corpus BLEU of up to four words (Papineni et al., 2002), the same number that sacrebleu 2 gives by default.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct BleuScore {
  double score = 0;                    ///< percent
  std::array<double, 4> precisions{};  ///< of 1 to 4 words, percent; smoothed where nothing matched
  double brevity_penalty = 1;          ///< 1 when the hypotheses are no shorter than the references
  int64_t hypothesis_length = 0;       ///< tokens
  int64_t reference_length = 0;        ///< tokens
  std::string signature;               ///< how it was computed, in sacrebleu's form

  /// hypothesis_length / reference_length; 0 without a reference token.
  double ratio() const;
  /// sacrebleu's line: "BLEU = 36.12 70.1/44.2/30.0/20.5 (BP = 0.980 ratio = 0.980 hyp_len = 12000 ref_len = 12240)".
  std::string to_string() const;
  /// What a reader of a zero should know: that no hypothesis has four tokens. Empty otherwise.
  std::string remark() const;
};

/// The score of plain, untokenised lines of valid UTF-8 against one reference each. Tokenizer 13a; counts are summed
/// over all lines; the k-th order without any match has the precision 100 / (2^k total) ("exp"); it is 0 when not one
/// word matches, or when no line has four tokens. `lower_cased`: both sides are put in lower case first. Throws Error
/// unless there are as many hypotheses as references, and at least one.
BleuScore score_bleu(std::span<const std::string> references, std::span<const std::string> hypotheses,
                     bool lower_cased = false);

/// The tokens of mteval-v13a.pl, as sacrebleu has them: punctuation and symbols of ASCII stand alone, but for
/// apostrophes, for points and commas between digits, and for dashes that no digit is before.
std::vector<std::string> tokenize_13a(std::string_view line);

}  // namespace vkformer
