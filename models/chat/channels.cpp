#include "models/chat/channels.h"

namespace vkformer {

std::optional<Channels::Marks> Channels::find(
    const std::function<std::optional<int32_t>(std::string_view token)>& id_of) {
  const auto start = id_of("<|start|>"), channel = id_of("<|channel|>"), message = id_of("<|message|>"),
             end = id_of("<|end|>");
  if (!start || !channel || !message || !end) return std::nullopt;
  return Marks{*start, *channel, *message, *end};
}

Channels::Channels(const Marks& marks, TextOf text_of, std::span<const int32_t> prompt)
    : marks_(marks), text_of_(std::move(text_of)) {
  size_t begin = prompt.size();  // behind the last mark of a start
  while (begin > 0 && prompt[begin - 1] != marks.start) --begin;
  if (begin > 0)
    for (const int32_t id : prompt.subspan(begin - 1)) take(id);
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
    const bool final =
        !channel_ || text_of_({header_.begin() + static_cast<int64_t>(*channel_), header_.end()}).starts_with("final");
    constexpr std::string_view recipient = "to=functions.";
    const std::string text = text_of_(header_);
    const size_t at = text.find(recipient);
    called_ = at == text.npos ? "" : text.substr(at + recipient.size());
    called_.erase(std::min(called_.find_first_of(" <"), called_.size()));
    part_ = !called_.empty() ? Part::call : final ? Part::answer : Part::thought;
    return Part::header;
  } else if (part_ == Part::header) {
    header_.push_back(id);
  }
  return part_;
}

}  // namespace vkformer
