#include "models/chat/thinking.h"

#include <algorithm>

namespace vkformer {

namespace {

/// Line ends may stand behind a mark in a prompt, or before the first in an answer. Farther away a mark is a text's.
constexpr size_t most_between = 2;

}  // namespace

std::optional<Thinking::Marks> Thinking::find(
    const std::function<std::optional<int32_t>(std::string_view token)>& id_of) {
  constexpr std::pair<std::string_view, std::string_view> marks[] = {{"<think>", "</think>"},
                                                                     {"[THINK]", "[/THINK]"},
                                                                     {"<seed:think>", "</seed:think>"},
                                                                     {"<|START_THINKING|>", "<|END_THINKING|>"}};
  for (const auto& [first, last] : marks)
    if (const auto begin = id_of(first), end = id_of(last); begin && end) return Marks{*begin, *end};
  if (const auto begin = id_of("<|channel>"), end = id_of("<channel|>"); begin && end)
    return Marks{*begin, *end, id_of("\n").value_or(-1)};
  return std::nullopt;
}

Thinking::Thinking(const Marks& marks, std::span<const int32_t> prompt) : marks_(marks) {
  for (const int32_t id : prompt.last(std::min(prompt.size(), most_between + 1))) {
    if (id == marks.begin) part_ = AnswerPart::thought;
    if (id == marks.end) part_ = AnswerPart::answer;
  }
}

AnswerPart Thinking::take(int32_t id) {
  const bool first = taken_++ <= static_cast<int64_t>(most_between);
  const bool begins = id == marks_.begin && first && part_ == AnswerPart::answer;
  const bool ends = id == marks_.end && part_ == AnswerPart::thought;
  if (naming_ && !ends) {
    naming_ = id != marks_.name_end;
    return AnswerPart::header;
  }
  if (!begins && !ends) return part_;
  part_ = begins ? AnswerPart::thought : AnswerPart::answer;
  naming_ = begins && marks_.name_end >= 0;
  return AnswerPart::header;
}

}  // namespace vkformer
