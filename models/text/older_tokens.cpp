#include "models/text/older_tokens.h"

#include <algorithm>
#include <unordered_map>

#include "models/text/template_processing.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

using nlohmann::json;

namespace {

/// In the order in which transformers gives ids to them.
constexpr const char* roles_in_order[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                          "pad_token", "cls_token", "mask_token"};

}  // namespace

OlderTokens::OlderTokens(const OlderSettings& settings, const std::vector<OlderRole>& of_class, int64_t size, Find find,
                         const std::vector<OlderToken>& of_model)
    : folder_(settings.folder()), find_(std::move(find)), next_(size), roles_(settings.roles(of_class)) {
  for (const auto& [id, token] : settings.added()) {
    // An id that the vocabulary has for the same text counts, as it does in a tokenizer.json.
    const int64_t here = find_(token.content).value_or(id);
    added_[here] = token;
    next_ = std::max(next_, here + 1);
  }
  for (const OlderToken& token : of_model) add(token, true);
  for (const char* role : roles_in_order)
    if (const auto token = roles_.find(role); token != roles_.end()) {
      const auto is_default = std::ranges::find_if(of_class, [&](const OlderRole& known) {
        return known.first == role && known.second.content == token->second.content;
      });
      add(token->second, is_default == of_class.end());
    }
  for (const OlderToken& token : settings.additional()) add(token, true);
}

std::optional<int64_t> OlderTokens::id_of(const std::string& token) const {
  if (const auto id = find_(token)) return id;
  for (const auto& [id, added] : added_)
    if (added.content == token) return id;
  return std::nullopt;
}

void OlderTokens::add(const OlderToken& token, bool even_if_unknown) {
  const auto id = id_of(token.content);
  if (!id && !even_if_unknown) return;
  const auto [place, is_new] = added_.emplace(id.value_or(next_), token);
  if (!id) ++next_;
  if (token.special) place->second.special = true;
}

const std::string& OlderTokens::text(const std::string& role) const {
  const auto token = roles_.find(role);
  check(token != roles_.end(), "'{}' has no {}; name it in tokenizer_config.json", folder_, role);
  return token->second.content;
}

uint64_t OlderTokens::id(const std::string& role) const {
  const auto id = id_of(text(role));
  check(id.has_value(), "'{}' has no token {}, which is its {}; name it in tokenizer_config.json", folder_,
        in_quotes(text(role)), role);
  return static_cast<uint64_t>(*id);
}

json OlderTokens::added() const {
  json list = json::array();
  for (const auto& [id, token] : added_)
    list.push_back({{"id", id},
                    {"content", token.content},
                    {"single_word", token.single_word},
                    {"lstrip", token.lstrip},
                    {"rstrip", token.rstrip},
                    {"normalized", token.normalized.value_or(!token.special)},
                    {"special", token.special}});
  return list;
}

json OlderTokens::surround(const std::string& single, const std::string& pair) const {
  return template_processing(single, pair, [&](const std::string& role) {
    return TemplateToken{text(role), id(role)};
  });
}

OlderTokens::Find finder_of(const std::vector<std::string>& vocabulary) {
  const auto ids = std::make_shared<std::unordered_map<std::string, int64_t>>();
  for (size_t id = 0; id < vocabulary.size(); ++id) (*ids)[vocabulary[id]] = static_cast<int64_t>(id);
  return [ids](const std::string& token) -> std::optional<int64_t> {
    const auto id = ids->find(token);
    return id == ids->end() ? std::nullopt : std::optional(id->second);
  };
}

}  // namespace vkformer
