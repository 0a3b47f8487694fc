#include "models/transcription/segments.h"

#include <algorithm>

namespace vkformer {

namespace {

constexpr double seconds_of_time = 0.02;

}  // namespace

WindowSegments split_at_times(std::span<const int32_t> written, double seconds, const SpeechTokens& tokens) {
  std::vector<int32_t> ids(written.begin(), written.end());
  std::erase_if(ids, [&](int32_t id) { return id >= tokens.end && !tokens.is_time(id); });
  const auto time_of = [&](int32_t id) {
    return std::min(static_cast<double>(id - tokens.first_time) * seconds_of_time, seconds);
  };
  const auto text_of = [&](size_t first, size_t end) {
    std::vector<int32_t> text;
    for (size_t i = first; i < end; ++i)
      if (!tokens.is_time(ids[i])) text.push_back(ids[i]);
    return text;
  };
  const size_t count = ids.size();
  const bool single_end = count >= 2 && tokens.is_time(ids[count - 1]) && !tokens.is_time(ids[count - 2]);
  std::vector<size_t> ends;  // places of the second times of pairs, and where all ends
  for (size_t i = 1; i < count; ++i)
    if (tokens.is_time(ids[i]) && tokens.is_time(ids[i - 1])) ends.push_back(i);
  if (ends.empty()) {
    const auto last = std::find_if(ids.rbegin(), ids.rend(), [&](int32_t id) { return tokens.is_time(id); });
    const double end = last != ids.rend() && *last > tokens.first_time ? time_of(*last) : seconds;
    return {.segments = {{.begin = 0, .end = end, .ids = text_of(0, count)}}, .seconds = seconds};
  }
  WindowSegments found{.seconds = single_end ? seconds : time_of(ids[ends.back() - 1])};
  if (single_end) ends.push_back(count);
  size_t begin = 0;
  for (const size_t end : ends) {
    found.segments.push_back({.begin = time_of(ids[begin]), .end = time_of(ids[end - 1]), .ids = text_of(begin, end)});
    begin = end;
  }
  return found;
}

}  // namespace vkformer
