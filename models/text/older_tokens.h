#pragma once
// The tokens of a tokenizer that is older than tokenizer.json, as that file lists those which are no part of a model.

#include <nlohmann/json.hpp>

#include "models/text/older_settings.h"

namespace vkformer {

class OlderTokens {
 public:
  using Find = std::function<std::optional<int64_t>(const std::string& token)>;
  /// `find`: the id of a token of the vocabulary, which has ids below `size`. `of_model`: those of the vocabulary that
  /// are sought in texts before it. Special tokens of the settings that the vocabulary lacks get the next ids, those of
  /// the class are left out then.
  OlderTokens(const OlderSettings& settings, const std::vector<OlderRole>& of_class, int64_t size, Find find,
              const std::vector<OlderToken>& of_model = {});

  /// By role, "cls_token". Throws Error where there is none.
  const std::string& text(const std::string& role) const;
  uint64_t id(const std::string& role) const;

  /// "added_tokens"
  nlohmann::json added() const;
  /// TemplateProcessing, of what stands around a text or two: "cls_token A:0 sep_token", each with its token type
  /// behind a colon (0 otherwise).
  nlohmann::json surround(const std::string& single, const std::string& pair) const;
  /// ["<s>", 0], as RobertaProcessing has them.
  nlohmann::json named(const std::string& role) const { return {text(role), id(role)}; }

 private:
  void add(const OlderToken& token, bool even_if_unknown);
  std::optional<int64_t> id_of(const std::string& token) const;

  std::string folder_;
  Find find_;
  int64_t next_;
  std::map<std::string, OlderToken> roles_;
  std::map<int64_t, OlderToken> added_;
};

/// By the places of a vocabulary's tokens, which are their ids.
OlderTokens::Find finder_of(const std::vector<std::string>& vocabulary);

}  // namespace vkformer
