#pragma once
// The "added_tokens" of a tokenizer.json: tokens that are found in a text before the model sees it.

#include <map>
#include <optional>
#include <set>

#include "models/text/normalizers.h"
#include "models/text/token_model.h"

namespace vkformer {

struct AddedToken {
  int32_t id = 0;
  std::string content;
  std::string decoded;                  ///< what decoders get: the content, normalized where it is sought so
  bool special = false;                 ///< left out when texts are decoded without special tokens
  bool normalized = false;              ///< sought, normalized, in the normalized text
  bool single_word = false;             ///< no match within a word
  bool lstrip = false, rstrip = false;  ///< take the white space before and behind along
};

/// A part of a text that is one added token, or no token yet.
struct FoundPart {
  TextPart part;
  const AddedToken* token = nullptr;
};

class AddedTokens {
 public:
  AddedTokens() = default;
  /// From the whole tokenizer.json. An id that the model has for the same text counts. Throws Error.
  AddedTokens(const JsonObject& tokenizer, const TokenModel& model, const Normalizer& normalizer);

  /// Splits at the leftmost, then longest added tokens; `normalized` says which of them are sought.
  std::vector<FoundPart> split(const TextPart& part, bool normalized) const;
  /// nullptr when no added token has this id.
  const AddedToken* find(int32_t id) const;
  bool is_special(std::string_view token) const { return specials_.contains(token); }
  std::optional<int32_t> id_of(std::string_view content) const;
  /// The largest id, or -1.
  int32_t last_id() const { return by_id_.empty() ? -1 : by_id_.rbegin()->first; }

 private:
  /// What to look for, by first byte; longer ones first.
  using Wanted = std::map<char, std::vector<std::pair<std::string, const AddedToken*>>>;

  std::map<int32_t, AddedToken> by_id_;
  std::set<std::string, std::less<>> specials_;
  Wanted raw_, normalized_;
};

}  // namespace vkformer
