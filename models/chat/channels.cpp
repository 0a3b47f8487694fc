#include "models/chat/channels.h"

namespace vkformer {

std::optional<Channels::Marks> Channels::find(
    const std::function<std::optional<int32_t>(std::string_view token)>& id_of) {
  const auto start = id_of("<|start|>"), channel = id_of("<|channel|>"), message = id_of("<|message|>"),
             end = id_of("<|end|>");
  if (!start || !channel || !message || !end) return std::nullopt;
  return Marks{*start, *channel, *message, *end};
}

Channels::Part Channels::take(int32_t id, const std::function<std::string(const std::vector<int32_t>& ids)>& text_of) {
  if (id == marks_.start || id == marks_.end || id == marks_.channel) {
    channel_.clear();
    named_ = id == marks_.channel;
    part_ = Part::header;
  } else if (id == marks_.message) {
    // "final", or "commentary to=functions.search", and what more a header says.
    const bool final = !named_ || text_of(channel_).starts_with("final");
    part_ = final ? Part::answer : Part::thought;
    return Part::header;
  } else if (part_ == Part::header && named_) {
    channel_.push_back(id);
  }
  return part_;
}

}  // namespace vkformer
