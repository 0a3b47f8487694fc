#pragma once
// What stands beside the vocabulary of a tokenizer that is older than tokenizer.json: tokenizer_config.json,
// special_tokens_map.json and added_tokens.json, each of which may be missing.

#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// A special token, and how it is sought in a text.
struct OlderToken {
  std::string content;
  bool lstrip = false, rstrip = false, single_word = false;
  bool special = true;
  std::optional<bool> normalized = {};  ///< as a rule where it is not special
  bool bare = false;                    ///< a file has its text alone: the class knows the rest
};

/// A token with its role, the key in tokenizer_config.json: "cls_token".
using OlderRole = std::pair<std::string, OlderToken>;

class OlderSettings {
 public:
  /// Throws Error for files that can't be read.
  explicit OlderSettings(const std::filesystem::path& folder);

  const std::string& folder() const { return name_; }
  /// The tokenizer's class without "Fast"; empty: nothing names it. As transformers' AutoTokenizer finds it: in
  /// tokenizer_config.json, in config.json, or by the model's type.
  const std::string& tokenizer_class() const { return class_; }

  /// Of tokenizer_config.json.
  bool flag(std::string_view key, bool otherwise) const { return boolean_or(config_, key, otherwise); }
  std::optional<bool> flag(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t otherwise, int64_t max) const;
  std::string text(std::string_view key, const std::string& otherwise) const {
    return string_or(config_, key, otherwise);
  }

  /// The special tokens by role, those of the class where the files have no others, and none where they say null.
  std::map<std::string, OlderToken> roles(const std::vector<OlderRole>& of_class) const;
  /// The "additional_special_tokens".
  const std::vector<OlderToken>& additional() const { return additional_; }
  /// Tokens with ids of their own, of added_tokens_decoder or added_tokens.json.
  const std::map<int64_t, OlderToken>& added() const { return added_; }

 private:
  void read_special_tokens(const JsonObject& from);
  void read_added_tokens(const std::filesystem::path& folder);
  void read_class(const std::filesystem::path& folder);

  std::string name_;
  JsonObject config_;
  std::string class_;
  std::map<std::string, std::optional<OlderToken>> special_;  ///< by role; without a value: there is none
  std::vector<OlderToken> additional_;
  std::map<int64_t, OlderToken> added_;
};

}  // namespace vkformer
