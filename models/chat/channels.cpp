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
  if (id == marks_.start || id == marks_.end || id == marks_.channel) {
    channel_.clear();
    named_ = id == marks_.channel;
    part_ = Part::header;
  } else if (id == marks_.message) {
    // "final", or "commentary to=functions.search", and what more a header says.
    const bool final = !named_ || text_of_(channel_).starts_with("final");
    part_ = final ? Part::answer : Part::thought;
    return Part::header;
  } else if (part_ == Part::header && named_) {
    channel_.push_back(id);
  }
  return part_;
}

}  // namespace vkformer
