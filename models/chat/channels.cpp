#include "models/chat/channels.h"

#include <algorithm>

namespace vkformer {

std::optional<Channels::Marks> Channels::find(
    const std::function<std::optional<int32_t>(std::string_view token)>& id_of) {
  const auto start = id_of("<|start|>"), channel = id_of("<|channel|>"), message = id_of("<|message|>"),
             end = id_of("<|end|>");
  if (!start || !channel || !message || !end) return std::nullopt;
  return Marks{*start, *channel, *message, *end, id_of("<|constrain|>").value_or(-1)};
}

Channels::Channels(const Marks& marks, TextOf text_of, std::span<const int32_t> prompt)
    : marks_(marks), text_of_(std::move(text_of)) {
  size_t begin = prompt.size();  // behind the last mark of a start
  while (begin > 0 && prompt[begin - 1] != marks.start) --begin;
  if (begin > 0)
    for (const int32_t id : prompt.subspan(begin - 1)) take(id);
}

std::string Channels::recipient_in(std::span<const int32_t> header) const {
  constexpr std::string_view recipient = "to=functions.";
  const auto end = std::ranges::find(header, marks_.constrain);
  const std::string text = text_of_({header.begin(), end});
  const size_t at = text.find(recipient);
  if (at == text.npos) return {};
  const size_t begin = at + recipient.size();
  return text.substr(begin, text.find_first_of(" \t\r\n<", begin) - begin);
}

Channels::Part Channels::take(int32_t id) {
  if (id == marks_.start || id == marks_.end) {
    header_.clear();
    channel_.reset();
    part_ = Part::header;
  } else if (id == marks_.channel) {
    if (part_ != Part::header) header_.clear();
    channel_ = header_.size();
    part_ = Part::header;
  } else if (id == marks_.message) {
    // "final", or "commentary to=functions.search", and what more a header says; the tool may stand before the channel.
    const std::span<const int32_t> header = header_;
    const size_t before = channel_.value_or(header.size());
    const bool final =
        !channel_ || text_of_({header.begin() + static_cast<int64_t>(before), header.end()}).starts_with("final");
    called_ = recipient_in(header.first(before));
    if (called_.empty()) called_ = recipient_in(header.subspan(before));
    part_ = !called_.empty() ? Part::call : final ? Part::answer : Part::thought;
    return Part::header;
  } else if (part_ == Part::header) {
    header_.push_back(id);
  }
  return part_;
}

}  // namespace vkformer
