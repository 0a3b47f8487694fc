#pragma once
// Numbers in words, by the rules of the installed ICU.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace vkformer {

/// Spells out whole numbers in one language and reads them back. Of two threads each needs its own.
class NumberWords {
 public:
  /// `locale`: a language ("en"), also with a script or a region ("zh_Hant", "pt_PT"). Throws Error when ICU has no
  /// words for its numbers.
  explicit NumberWords(const std::string& locale);
  ~NumberWords();
  NumberWords(NumberWords&&) noexcept;
  NumberWords& operator=(NumberWords&&) noexcept;

  /// The number's words in UTF-8, without the invisible characters by which ICU marks where a line may be broken.
  /// Throws Error for numbers that the language's rules write in digits.
  std::string spell(int64_t number) const;
  /// What spell() wrote, read back: a grader for what a model wrote. Nothing for a text that is not, as a whole, the
  /// words of a number up to 2^53. ICU's rules for a few languages (Irish) can't read all that they write.
  std::optional<int64_t> parse(std::string_view text) const;

 private:
  struct Rules;
  std::unique_ptr<Rules> rules_;
};

}  // namespace vkformer
