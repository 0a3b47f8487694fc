#include "models/serving/stop_texts.h"

#include <algorithm>

namespace vkformer {

std::string StopTexts::push(std::string_view piece) {
  if (found()) return {};
  held_ += piece;
  size_t end = held_.npos, longest = 0;
  for (const std::string& stop : stops_) {
    if (const size_t place = held_.find(stop); place < end) {
      end = place;
      which_ = stop;
    }
    longest = std::max(longest, stop.size());
  }
  if (!found()) {  // the longest end of it that some stop text begins with stays
    const auto begins_one = [&](std::string_view tail) {
      return std::ranges::any_of(stops_, [&](const std::string& stop) { return stop.starts_with(tail); });
    };
    end = held_.size() - std::min(held_.size(), longest);
    while (end < held_.size() && !begins_one(std::string_view(held_).substr(end))) ++end;
  }
  std::string shown = held_.substr(0, end);
  held_.erase(0, end);
  return shown;
}

}  // namespace vkformer
