#include "models/chat/python_calls.h"

#include "models/chat/white_space.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Json = nlohmann::ordered_json;

constexpr int deepest = 64;

class CallReader {
 public:
  explicit CallReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<ToolCall>> calls() {
    std::vector<ToolCall> found;
    if (!take('[')) return std::nullopt;
    do {
      const std::string_view name = word();
      if (name.empty() || !take('(')) return std::nullopt;
      auto arguments = members(')', '=', 0);
      if (!arguments) return std::nullopt;
      found.push_back({std::string(name), arguments->dump()});
    } while (take(','));
    return take(']') ? std::optional(found) : std::nullopt;
  }

  size_t length() const { return at_; }
  /// More text could go on with what was read.
  bool ended() const { return at_ >= text_.size(); }

 private:
  bool take(char wanted) {
    at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size());
    if (ended() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string_view word() {
    constexpr std::string_view of_words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-+";
    at_ = std::min(text_.find_first_not_of(blanks, at_), text_.size());
    const size_t begin = at_;
    at_ = std::min(text_.find_first_not_of(of_words, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

  /// name=value, .. or "key": value, .. up to `end`.
  std::optional<Json> members(char end, char behind_key, int depth) {
    Json object = Json::object();
    if (take(end)) return object;
    do {
      std::optional<std::string> key;
      if (behind_key == '=')
        key = word();
      else if (const auto text = value(depth + 1); text && text->is_string())
        key = text->get<std::string>();
      if (!key || key->empty() || !take(behind_key)) return std::nullopt;
      auto found = value(depth + 1);
      if (!found) return std::nullopt;
      object[*key] = std::move(*found);
    } while (take(','));
    return take(end) ? std::optional(object) : std::nullopt;
  }

  std::optional<Json> elements(char end, int depth) {
    Json list = Json::array();
    if (take(end)) return list;
    do {
      auto found = value(depth + 1);
      if (!found) return std::nullopt;
      list.push_back(std::move(*found));
    } while (take(','));
    return take(end) ? std::optional(list) : std::nullopt;
  }

  std::optional<Json> value(int depth) {
    if (depth > deepest) return std::nullopt;
    if (take('{')) return members('}', ':', depth);
    if (take('[')) return elements(']', depth);
    if (take('(')) return elements(')', depth);
    for (const char quote : {'"', '\''})
      if (take(quote)) return quoted(quote);
    const std::string_view found = word();
    if (ended()) return std::nullopt;  // it may go on
    if (found == "True") return Json(true);
    if (found == "False") return Json(false);
    if (found == "None") return Json(nullptr);
    const Json json = Json::parse(found, nullptr, false);
    return json.is_discarded() ? std::nullopt : std::optional(json);
  }

  std::optional<Json> quoted(char quote) {
    std::string text;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == quote) {
        ++at_;
        return Json(text);
      }
      if (c == '\\') {
        if (++at_ == text_.size()) break;
        constexpr std::string_view escaped = "nrtbf0", meant{"\n\r\t\b\f\0", 6};
        c = text_[at_];
        if (const size_t which = escaped.find(c); which != escaped.npos)
          c = meant[which];
        else if (const auto [code, length] = c == 'u' ? code_at(at_ + 1) : std::pair<char32_t, size_t>(); length > 0) {
          append_utf8(text, code);
          at_ += length;
          continue;
        } else if (c != '\\' && c != '\'' && c != '"')
          text += '\\';  // Python leaves what it does not know
      }
      text += c;
    }
    return std::nullopt;
  }

  /// What four hexadecimal digits mean, or eight of the two halves of a pair with \\u between them, and how long that
  /// is; 0: nothing.
  std::pair<char32_t, size_t> code_at(size_t at) const {
    const auto first = digits_at(at);
    if (!first || (*first >= 0xDC00 && *first < 0xE000)) return {};
    if (*first < 0xD800 || *first >= 0xE000) return {*first, 4};
    const auto second =
        text_.substr(std::min(at + 4, text_.size())).starts_with("\\u") ? digits_at(at + 6) : std::nullopt;
    if (!second || *second < 0xDC00 || *second >= 0xE000) return {};
    return {0x10000 + ((*first - 0xD800) << 10) + (*second - 0xDC00), 10};
  }

  std::optional<char32_t> digits_at(size_t at) const {
    const std::string_view digits = text_.substr(std::min(at, text_.size()), 4);
    if (digits.size() < 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) return std::nullopt;
    return static_cast<char32_t>(std::stoul(std::string(digits), nullptr, 16));
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::optional<ToolCallForm> python_call_form(std::string_view turn, std::string_view name, const Json& arguments) {
  const size_t at = turn.find(name), list = turn.rfind('[', at);
  if (at == turn.npos || list == turn.npos || !trimmed(turn.substr(list + 1, at - list - 1)).empty())
    return std::nullopt;
  const CallBody body = python_body(turn.substr(list));
  if (body.calls != std::vector<ToolCall>{{std::string(name), arguments.dump()}}) return std::nullopt;
  const std::string begin(trimmed(turn.substr(0, list))), end(trimmed(turn.substr(list + body.length)));
  if (begin.empty()) return std::nullopt;
  return ToolCallForm{.begin = begin, .end = end, .list = true, .python = true};
}

CallBody python_body(std::string_view text) {
  CallReader reader(text);
  auto calls = reader.calls();
  if (!calls) return {.may_come = reader.ended()};
  return {.length = reader.length(), .calls = std::move(*calls)};
}

}  // namespace vkformer
