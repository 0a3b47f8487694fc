#pragma once
// The vocabulary of a tokenizer's model where it is a map from tokens to ids.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vkformer {

class JsonObject;

class TokenTable {
 public:
  /// The object "vocab" of a model. Ids may have gaps, as in some published files. Throws Error with file and token on
  /// an id that is no integer from 0 to INT32_MAX, and on an id that two tokens have.
  explicit TokenTable(const JsonObject& model);
  TokenTable(const TokenTable&) = delete;
  TokenTable& operator=(const TokenTable&) = delete;

  std::optional<int32_t> id_of(std::string_view token) const;
  std::optional<std::string_view> token_of(int32_t id) const;
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  /// Bytes of the longest token.
  size_t longest() const { return longest_; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<int32_t, std::string_view> tokens_;  ///< the keys of ids_
  size_t longest_ = 0;
};

/// The token that stands for one byte of a character outside the vocabulary: "<0x0A>".
std::string byte_token(uint8_t byte);

/// The list `key`. Throws Error with file and key when it is absent or no list.
const nlohmann::json& require_list(const JsonObject& object, std::string_view key);

}  // namespace vkformer
