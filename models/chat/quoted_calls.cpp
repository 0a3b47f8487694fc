#include "models/chat/quoted_calls.h"

#include "models/chat/white_space.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

/// Reads a value from the front of a text.
class ValueReader {
 public:
  ValueReader(std::string_view text, std::string_view quote) : text_(text), quote_(quote) {}

  /// Nothing where there is none, or not all of it.
  std::optional<Json> value(int depth = 0) {
    constexpr int deepest = 100;
    skip_blanks();
    if (at_ == text_.size() || depth > deepest) return std::nullopt;
    if (take(quote_)) return quoted();
    if (take("{")) return members(depth);
    if (take("[")) return elements(depth);
    return literal();
  }
  size_t length() const { return at_; }
  /// The text ends where more of it is needed.
  bool ended() const { return at_ == text_.size(); }

 private:
  bool take(std::string_view token) {
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void skip_blanks() { at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size()); }
  bool take_after_blanks(std::string_view token) {
    skip_blanks();
    return take(token);
  }
  /// Up to `mark`, which is not part of it.
  std::optional<std::string_view> up_to(std::string_view mark) {
    const size_t end = text_.find(mark, at_);
    const std::string_view found = text_.substr(at_, std::min(end, text_.size()) - at_);
    at_ = std::min(end, text_.size());
    return end == text_.npos ? std::nullopt : std::optional(found);
  }
  std::optional<Json> quoted() {
    const auto found = up_to(quote_);
    if (!found) return std::nullopt;
    at_ += quote_.size();
    return Json(*found);
  }

  std::optional<Json> members(int depth) {
    Json object = Json::object();
    if (take_after_blanks("}")) return object;
    do {
      skip_blanks();
      std::optional<std::string> key;
      if (take(quote_)) {
        if (const auto text = quoted()) key = text->get<std::string>();
        if (!take_after_blanks(":")) return std::nullopt;
      } else if (const auto text = up_to(":")) {
        key = std::string(trimmed(*text));
        ++at_;
      }
      auto found = key ? value(depth + 1) : std::nullopt;
      if (!found) return std::nullopt;
      object[*key] = std::move(*found);
    } while (take_after_blanks(","));
    return take("}") ? std::optional(object) : std::nullopt;
  }

  std::optional<Json> elements(int depth) {
    Json list = Json::array();
    if (take_after_blanks("]")) return list;
    do {
      auto found = value(depth + 1);
      if (!found) return std::nullopt;
      list.push_back(std::move(*found));
    } while (take_after_blanks(","));
    return take("]") ? std::optional(list) : std::nullopt;
  }

  /// A number, a truth value, nothing (also as Python writes them), or a text without marks.
  std::optional<Json> literal() {
    const size_t end = text_.find_first_of(",]}", at_);
    const std::string_view found = trimmed(text_.substr(at_, std::min(end, text_.size()) - at_));
    at_ = std::min(end, text_.size());
    if (end == text_.npos) return std::nullopt;
    if (found == "True") return Json(true);
    if (found == "False") return Json(false);
    if (found == "None") return Json(nullptr);
    const Json json = Json::parse(found, nullptr, false);
    return json.is_discarded() ? Json(found) : json;
  }

  std::string_view text_, quote_;
  size_t at_ = 0;
};

}  // namespace

std::optional<ToolCallForm> quoted_call_form(std::string_view turn, std::string_view name, const Json& arguments) {
  const std::string text = arguments.back();
  const size_t at = turn.find(name), place = turn.find(text, at), colon = turn.substr(0, place).rfind(':');
  if (at == turn.npos || place == turn.npos || colon == turn.npos || colon < at) return std::nullopt;
  const std::string quote(turn.substr(colon + 1, place - colon - 1));
  if (quote.empty() || quote.find_first_of(blanks) != quote.npos) return std::nullopt;
  const std::string_view body = turn.substr(at + name.size());
  ValueReader reader(body, quote);
  if (!body.starts_with('{') || reader.value() != arguments) return std::nullopt;
  const std::string begin(trimmed(turn.substr(0, at))), end(trimmed(body.substr(reader.length())));
  if (begin.empty()) return std::nullopt;
  return ToolCallForm{.begin = begin, .end = end, .quote = quote};
}

CallBody quoted_body(const ToolCallForm& form, std::string_view text) {
  const size_t name = text.find_first_of("{ \t\r\n");
  if (name == text.npos) return {.may_come = true};
  if (name == 0 || text[name] != '{') return {};
  ValueReader reader(text.substr(name), form.quote);
  const auto arguments = reader.value();
  if (!arguments) return {.may_come = reader.ended()};
  return {.length = name + reader.length(), .calls = {{std::string(text.substr(0, name)), arguments->dump()}}};
}

}  // namespace vkformer
