#include "models/text/token_table.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

TokenTable::TokenTable(const JsonObject& model) {
  const JsonObject vocab = require_object(model, "vocab");
  ids_.reserve(vocab.value().size());
  tokens_.reserve(vocab.value().size());
  for (const auto& [token, id] : vocab.value().items()) {
    check(id.is_number_unsigned() && id.get<uint64_t>() <= uint64_t{INT32_MAX},
          "{}: the id of {} is not an integer from 0 to {}; the file is damaged", vocab.name(), in_quotes(token),
          INT32_MAX);
    const auto place = ids_.emplace(token, id.get<int32_t>()).first;
    const auto [other, is_new] = tokens_.emplace(place->second, place->first);
    check(is_new, "{}: tokens {} and {} both have the id {}; the file is damaged", vocab.name(),
          in_quotes(other->second), in_quotes(token), place->second);
    longest_ = std::max(longest_, token.size());
  }
}

std::optional<int32_t> TokenTable::id_of(std::string_view token) const {
  const auto found = ids_.find(token);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string_view> TokenTable::token_of(int32_t id) const {
  const auto found = tokens_.find(id);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

std::string byte_token(uint8_t byte) { return fmt::format("<0x{:02X}>", byte); }

const nlohmann::json& require_list(const JsonObject& object, std::string_view key) {
  const auto field = object.value().find(key);
  check(field != object.value().end() && field->is_array(), "{}: \"{}\" must be a list [...]; the file is damaged",
        object.name(), key);
  return *field;
}

}  // namespace vkformer
