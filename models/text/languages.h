#pragma once
// The tokens by which one model translates between many languages (NLLB, M2M-100, mBART, multilingual Marian).

#include <string_view>
#include <vector>

#include "models/text/template_processing.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Those of a tokenizer.json: its added tokens that look like "fra_Latn" (NLLB), "__fr__" (M2M-100), "fr_XX" (mBART) or
/// ">>fra<<" (Marian).
class Languages {
 public:
  /// Where a text has its language's token.
  enum class Place : uint8_t {
    nowhere,
    before,   ///< and a translation begins with the one of its language, behind what a decoder begins with
    behind,   ///< the same, or in mBART a decoder begins with it
    written,  ///< Marian: in the source's text, the one of the language that is wanted
  };

  explicit Languages(const JsonObject& tokenizer);
  bool empty() const { return tokens_.empty(); }
  Place place() const { return place_; }
  /// Whether that is the id of one.
  bool contains(int64_t id) const;
  /// Whether each text is of one of them.
  bool of_texts() const { return place_ == Place::before || place_ == Place::behind; }
  /// Whether the decoder of such a model begins with the language's token, as mBART's first ones do, instead of writing
  /// it first.
  bool start_decoders_of(std::string_view family) const { return place_ == Place::behind && family == "mbart"; }
  /// The one that the tokenizer's texts are of. Only where of_texts().
  const TemplateToken& own() const { return find(own_); }

  /// The token of "fra_Latn", also called "fra" where there is no other that begins so; "fr" is "__fr__". Throws Error
  /// naming those there are.
  const TemplateToken& find(std::string_view name) const;
  /// The same tokenizer.json with texts of that language. Throws Error for texts that have none.
  JsonObject tokenizer_of(const JsonObject& tokenizer, const TemplateToken& language) const;

 private:
  std::string name_;  ///< of the tokenizer, in errors
  std::vector<TemplateToken> tokens_;
  Place place_ = Place::nowhere;
  std::string own_;
};

/// Whether a multilingual Marian reads this before a text: ">>fra<<".
bool is_written_language(std::string_view token);

/// What tokenizer_config.json calls a language's token as src_lang: "fr" of "__fr__"; most as it is.
std::string_view language_setting(std::string_view token);

}  // namespace vkformer
