#include "models/text/unicode.h"

#include <unicode/bytestream.h>
#include <unicode/casemap.h>
#include <unicode/normalizer2.h>
#include <unicode/regex.h>
#include <unicode/uchar.h>
#include <unicode/uniset.h>

#include <algorithm>
#include <array>

#include "runtime/check.h"

namespace vkformer {

namespace {

/// The categories that BERT's tokenizer sees are those of Unicode 8, to which the tokenizers library keeps: it takes
/// later characters for unassigned.
bool in_unicode_8(char32_t c) {
  UVersionInfo age;
  u_charAge(static_cast<UChar32>(c), age);
  return age[0] > 0 && age[0] <= 8;
}

bool in_categories(char32_t c, uint32_t mask) { return (U_MASK(u_charType(static_cast<UChar32>(c))) & mask) != 0; }

void check_icu(UErrorCode status, std::string_view what) {
  check(U_SUCCESS(status), "{}: ICU reports {}", what, u_errorName(status));
}

/// Normal forms are those of Unicode 9 in the tokenizers library: later characters stay, where they are.
const icu::Normalizer2& normalizer_of(NormalForm form) {
  static const auto normalizers = [] {
    UErrorCode status = U_ZERO_ERROR;
    static icu::UnicodeSet known("[:age=9.0:]", status);
    check_icu(status, "characters of Unicode 9");
    known.freeze();
    const auto of_known = [&](const icu::Normalizer2* all) {
      check_icu(status, "normal forms of text");
      return icu::FilteredNormalizer2(*all, known);
    };
    return std::array{
        of_known(icu::Normalizer2::getNFCInstance(status)), of_known(icu::Normalizer2::getNFDInstance(status)),
        of_known(icu::Normalizer2::getNFKCInstance(status)), of_known(icu::Normalizer2::getNFKDInstance(status))};
  }();
  return normalizers[static_cast<size_t>(form)];
}

/// Characters that go on with what stands before them, decomposed and in canonical order (Unicode Standard, D109): the
/// same text to every normal form.
std::string in_canonical_order(std::string_view run, const icu::Normalizer2& decomposer) {
  std::vector<UChar32> characters;
  for_each_character(run, [&](char32_t c, size_t, size_t) {
    icu::UnicodeString parts;
    if (!decomposer.getDecomposition(static_cast<UChar32>(c), parts)) parts = static_cast<UChar32>(c);
    for (int32_t at = 0; at < parts.length(); at = parts.moveIndex32(at, 1)) characters.push_back(parts.char32At(at));
  });
  const auto class_of = [&](UChar32 c) { return decomposer.getCombiningClass(c); };
  const auto starts = [&](UChar32 c) { return class_of(c) == 0; };
  for (auto begin = characters.begin(); begin != characters.end();) {
    const auto end = std::find_if(begin, characters.end(), starts);
    std::ranges::stable_sort(begin, end, {}, class_of);
    begin = std::find_if_not(end, characters.end(), starts);
  }
  std::string result;
  for (const UChar32 c : characters) append_utf8(result, static_cast<char32_t>(c));
  return result;
}

/// ICU sorts combining marks by insertion, which takes minutes for a megabyte of them: long runs come sorted.
std::string with_marks_sorted(std::string_view text, NormalForm form) {
  constexpr size_t long_run = 256;  // bytes
  const bool canonical = form == NormalForm::nfc || form == NormalForm::nfd;
  const icu::Normalizer2& decomposer = normalizer_of(canonical ? NormalForm::nfd : NormalForm::nfkd);
  std::string result;
  size_t done = 0, begin = 0;
  const auto end_run = [&](size_t end) {
    if (end - begin > long_run) {
      result.append(text.substr(done, begin - done))
          .append(in_canonical_order(text.substr(begin, end - begin), decomposer));
      done = end;
    }
  };
  for_each_character(text, [&](char32_t c, size_t at, size_t bytes) {
    if (c >= 0x300 && !decomposer.hasBoundaryBefore(static_cast<UChar32>(c))) return;
    end_run(at);
    begin = at + bytes;
  });
  end_run(text.size());
  return result.append(text.substr(done));
}

}  // namespace

std::string normalize(std::string_view text_as_it_is, NormalForm form) {
  const std::string text = with_marks_sorted(text_as_it_is, form);
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  normalizer_of(form).normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                                    status);
  check_icu(status, "normal forms of text");
  return result;
}

bool begins_normal_form(char32_t c, NormalForm form) {
  return normalizer_of(form).hasBoundaryBefore(static_cast<UChar32>(c)) != 0;
}

bool is_white_space(char32_t c) { return u_isUWhiteSpace(static_cast<UChar32>(c)); }

bool is_word_character(char32_t c) {
  return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_ALPHABETIC) ||
         u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_JOIN_CONTROL) ||
         in_categories(c, U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK);
}

bool is_punctuation(char32_t c) {
  const bool ascii =
      (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) || (c >= 0x7B && c <= 0x7E);
  return ascii || (in_categories(c, U_GC_P_MASK) && in_unicode_8(c));
}

bool is_numeric(char32_t c) { return in_categories(c, U_GC_N_MASK); }
bool is_mark(char32_t c) { return in_categories(c, U_GC_M_MASK); }
bool is_nonspacing_mark(char32_t c) { return in_categories(c, U_GC_MN_MASK) && in_unicode_8(c); }
bool is_control(char32_t c) { return in_categories(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK) && in_unicode_8(c); }

bool is_letter(char32_t c) { return in_categories(c, U_GC_L_MASK); }
bool is_digit(char32_t c) {
  const int32_t type = u_getIntPropertyValue(static_cast<UChar32>(c), UCHAR_NUMERIC_TYPE);
  return type == U_NT_DECIMAL || type == U_NT_DIGIT;
}
bool is_cased(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_CASED); }
bool is_upper(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_UPPERCASE); }
bool is_lower(char32_t c) { return u_hasBinaryProperty(static_cast<UChar32>(c), UCHAR_LOWERCASE); }
bool is_printable(char32_t c) { return c == ' ' || !in_categories(c, U_GC_C_MASK | U_GC_Z_MASK); }

void append_lower_case(std::string& text, char32_t c) {
  append_utf8(text, static_cast<char32_t>(u_tolower(static_cast<UChar32>(c))));
  // The one character whose lower case has two: i with a dot above it.
  if (c == 0x130) append_utf8(text, 0x307);
}

std::string lower_case(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  icu::CaseMap::utf8ToLower("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                            status);
  check_icu(status, "lower case of text");
  return result;
}

std::string upper_case(std::string_view text) {
  UErrorCode status = U_ZERO_ERROR;
  std::string result;
  icu::StringByteSink<std::string> sink(&result);
  icu::CaseMap::utf8ToUpper("", 0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())), sink, nullptr,
                            status);
  check_icu(status, "upper case of text");
  return result;
}

void append_title_case(std::string& text, char32_t c) {
  UErrorCode status = U_ZERO_ERROR;
  std::string character;
  append_utf8(character, c);
  icu::StringByteSink<std::string> sink(&text);
  icu::CaseMap::utf8ToTitle("", U_TITLECASE_WHOLE_STRING | U_TITLECASE_NO_BREAK_ADJUSTMENT, nullptr,
                            icu::StringPiece(character.data(), static_cast<int32_t>(character.size())), sink, nullptr,
                            status);
  check_icu(status, "title case of text");
}

struct Regex::Compiled {
  std::unique_ptr<icu::RegexPattern> pattern;
  std::string name;
};

Regex::Regex(std::string_view expression, std::string name) : compiled_(std::make_unique<Compiled>()) {
  UErrorCode status = U_ZERO_ERROR;
  UParseError place;
  const auto text =
      icu::UnicodeString::fromUTF8(icu::StringPiece(expression.data(), static_cast<int32_t>(expression.size())));
  compiled_->pattern.reset(icu::RegexPattern::compile(text, UREGEX_MULTILINE | UREGEX_UNIX_LINES, place, status));
  check(U_SUCCESS(status), "{}: the regular expression {} can't be compiled ({}, at character {})", name,
        in_quotes(expression), u_errorName(status), place.offset);
  compiled_->name = std::move(name);
}

Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

std::vector<ByteRange> Regex::find_all(std::string_view text) const {
  UErrorCode status = U_ZERO_ERROR;
  const std::unique_ptr<icu::RegexMatcher> matcher(compiled_->pattern->matcher(status));
  UText utf8 = UTEXT_INITIALIZER;
  utext_openUTF8(&utf8, text.data(), static_cast<int64_t>(text.size()), &status);
  check_icu(status, compiled_->name);
  matcher->reset(&utf8);
  // Ten thousand states of the search are a step. Expressions in use save some states for a character, of some bytes
  // each; others every way to divide a word.
  constexpr size_t least_steps = 20, bytes_of_step = 100, least_stack = 8'000'000, stack_of_byte = 200;
  const auto limit = [](size_t most) { return static_cast<int32_t>(std::min<size_t>(most, INT32_MAX)); };
  matcher->setTimeLimit(limit(least_steps + text.size() / bytes_of_step), status);
  matcher->setStackLimit(limit(least_stack + stack_of_byte * text.size()), status);
  std::vector<ByteRange> matches;
  while (matcher->find(status))
    matches.push_back({static_cast<size_t>(matcher->start64(status)), static_cast<size_t>(matcher->end64(status))});
  utext_close(&utf8);
  check(status != U_REGEX_TIME_OUT && status != U_REGEX_STACK_OVERFLOW,
        "{}: its regular expression takes too long for a text of {} bytes", compiled_->name, text.size());
  check_icu(status, compiled_->name);
  return matches;
}

}  // namespace vkformer
