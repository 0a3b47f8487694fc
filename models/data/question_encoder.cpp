#include "models/data/question_encoder.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

QuestionEncoder::QuestionEncoder(const Tokenizer& tokenizer, const Settings& settings)
    : tokenizer_(tokenizer),
      settings_(settings),
      room_(settings.positions - std::ssize(tokenizer.surround({Encoding(), Encoding()}).ids)) {
  check(room_ >= 2,
        "the tokenizer's special tokens leave {} of {} positions to a question and its context; give it more", room_,
        settings.positions);
}

AnswerWindow QuestionEncoder::window(const Encoding& question, ByteRange tokens) const {
  Encoding framed = tokenizer_.surround({question, encoded_.part(tokens.begin, tokens.end)});
  AnswerWindow window{.ids = std::move(framed.ids), .segments = std::move(framed.type_ids), .first = 0, .spans = {}};
  for (size_t i = 0; i < framed.spans.size(); ++i) {
    if (framed.spans[i].text != 1) continue;
    if (window.spans.empty()) window.first = static_cast<int32_t>(i);
    window.spans.push_back({framed.spans[i].begin, framed.spans[i].end});
  }
  return window;
}

std::vector<AnswerWindow> QuestionEncoder::encode(std::string_view question, std::string_view context, ByteRange answer,
                                                  std::string_view place) {
  if (context != context_) {
    encoded_ = tokenizer_.encode_with_spans(context, false);
    context_ = context;
  }
  Encoding asked = tokenizer_.encode(question, false);
  if (std::ssize(asked.ids) > room_ / 2) {
    asked = asked.part(0, static_cast<size_t>(room_ / 2));
    ++cut_;
  }
  // Its tokens, of the whole context.
  const size_t count = encoded_.ids.size();
  size_t first = count, last = 0;
  for (size_t i = 0; i < count; ++i) {
    if (encoded_.spans[i].end <= answer.begin || encoded_.spans[i].begin >= answer.end) continue;
    first = std::min(first, i);
    last = i;
  }
  check(first < count || answer.begin == answer.end, "{}: the tokenizer makes no token of the answer {}", place,
        in_quotes(context.substr(answer.begin, answer.end - answer.begin)));
  const size_t room = static_cast<size_t>(room_) - asked.ids.size();
  const size_t shared = std::min(static_cast<size_t>(settings_.stride), room / 2);
  std::vector<AnswerWindow> windows;
  for (size_t begin = 0;; begin += room - shared) {
    const size_t end = std::min(begin + room, count);
    windows.push_back(window(asked, {begin, end}));
    if (first >= begin && last < end && first < count) {
      const auto position = [&](size_t token) { return windows.back().first + static_cast<int32_t>(token - begin); };
      windows.back().ends = {position(first), position(last)};
    }
    if (end == count) break;
  }
  split_ += windows.size() > 1;
  return windows;
}

int64_t stride_of(int64_t asked, int64_t positions) {
  if (asked < 0) return std::min<int64_t>(128, positions / 3);
  check(asked < positions, "--stride {} must be less than the {} positions of a window", asked, positions);
  return asked;
}

}  // namespace vkformer
