#include "models/data/number_words.h"

#include <unicode/rbnf.h>
#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// ICU's rules with two changes. Soft hyphens and zero width spaces are dropped, or words without them would not parse.
/// And all sets of rules but `kept` get a private name ("%%name"): parsing tries each public one, is slow, and takes
/// "twenty one" for the year 2001.
icu::UnicodeString plain_rules(const icu::UnicodeString& rules, const icu::UnicodeString& kept) {
  icu::UnicodeString plain;
  for (int32_t i = 0; i < rules.length(); ++i) {
    const char16_t c = rules[i];
    if (c == 0xAD || c == 0x200B) continue;
    plain.append(c);
    // charAt gives U+FFFF outside the text.
    if (c != u'%' || rules.charAt(i - 1) == u'%' || rules.charAt(i + 1) == u'%') continue;
    const char16_t behind = rules.charAt(i + kept.length());
    const bool longer_name = behind == u'-' || u_isalnum(behind);
    if (longer_name || rules.compare(i, kept.length(), kept) != 0) plain.append(u'%');
  }
  return plain;
}

bool has_digits(const icu::UnicodeString& text) {
  for (int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1))
    if (u_isdigit(text.char32At(i))) return true;
  return false;
}

bool is_locale_name(std::string_view name) {
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

/// UTF-16 units of what is parsed: more than any number has, and not enough to wait for. Finding out that a text is no
/// number can take ICU the third power of its length.
constexpr int32_t longest_words = 512;

using Spellout = icu::RuleBasedNumberFormat;

/// None when ICU has no rules for the language.
std::unique_ptr<Spellout> spellout_rules(const icu::Locale& locale) {
  UErrorCode status = U_ZERO_ERROR;
  const Spellout found(icu::URBNF_SPELLOUT, locale, status);
  // For a language without rules ICU takes those of the environment's language, or of a related one, or digits.
  const icu::Locale actual = found.getLocale(ULOC_ACTUAL_LOCALE, status);
  if (U_FAILURE(status) || std::string_view(actual.getLanguage()) != locale.getLanguage()) return nullptr;
  UParseError place;
  auto rules =
      std::make_unique<Spellout>(plain_rules(found.getRules(), found.getDefaultRuleSetName()), locale, place, status);
  icu::UnicodeString one;
  return U_SUCCESS(status) && !has_digits(rules->format(int32_t{1}, one)) ? std::move(rules) : nullptr;
}

}  // namespace

struct NumberWords::Rules {
  std::string locale;
  std::unique_ptr<Spellout> spellout;
};

NumberWords::NumberWords(const std::string& locale) : rules_(std::make_unique<Rules>()) {
  rules_->locale = locale;
  if (is_locale_name(locale)) rules_->spellout = spellout_rules(icu::Locale::createCanonical(locale.c_str()));
  check(
      rules_->spellout != nullptr,
      "ICU has no number words for the language {}; it has them for en, de, es, fr, pt, ru, ar, hi, ja, zh and others",
      in_quotes(locale));
}

NumberWords::~NumberWords() = default;
NumberWords::NumberWords(NumberWords&&) noexcept = default;
NumberWords& NumberWords::operator=(NumberWords&&) noexcept = default;

std::string NumberWords::spell(int64_t number) const {
  icu::UnicodeString words;
  rules_->spellout->format(number, words);
  check(!has_digits(words), "ICU has no words for {} in the language \"{}\"; use smaller numbers", number,
        rules_->locale);
  std::string text;
  return words.toUTF8String(text);
}

std::optional<int64_t> NumberWords::parse(std::string_view text) const {
  const auto words = icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<int32_t>(text.size())));
  if (words.length() > longest_words) return std::nullopt;
  icu::Formattable result;
  icu::ParsePosition end;
  rules_->spellout->parse(words, result, end);
  if (end.getIndex() == 0 || end.getIndex() != words.length()) return std::nullopt;
  UErrorCode status = U_ZERO_ERROR;
  const double value = result.getDouble(status);
  if (U_FAILURE(status) || std::trunc(value) != value || std::abs(value) > 0x1p53) return std::nullopt;
  return static_cast<int64_t>(value);
}

}  // namespace vkformer
