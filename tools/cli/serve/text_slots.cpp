#include "tools/cli/serve/text_slots.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/serving/text_request.h"
#include "runtime/check.h"
#include "tools/cli/progress.h"
#include "tools/cli/serve/service.h"

namespace vkformer {

/// A session, and the job that uses it.
struct TextSlots::Slot {
  Slot(SessionGroup& group, const DraftSetup& drafts, size_t number)
      : index(number),
        generator(group.generator(number)),
        session(group.session(number)),
        speculation(drafts.speculation(generator, session)) {}

  size_t index;
  Generator& generator;
  GenerationSession& session;
  Speculation speculation;
  int64_t started = 0;  ///< the later, the larger
  std::unique_ptr<TextJob> job;
  bool busy = false;  ///< with the lock
  std::optional<AnswerText> text;
  StopTexts stops;
  TextReplyEnd end;
  std::vector<ReplyToken> tokens;  ///< whose text was not written yet
  size_t characters = 0;           ///< of all tokens so far
  bool all_logits = false;
  size_t run = 0;  ///< tokens of the prompt that have been
  double begin = 0, answer_begin = 0;
};

namespace {

/// Of equal ones the lower id first.
std::vector<std::pair<int32_t, double>> likeliest_of(std::span<const double> log_probabilities, int64_t count) {
  if (count == 0) return {};
  std::vector<int32_t> ids(log_probabilities.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto of = [&](int32_t id) { return log_probabilities[static_cast<size_t>(id)]; };
  const auto last = ids.begin() + std::min<std::ptrdiff_t>(count, std::ssize(ids));
  std::partial_sort(ids.begin(), last, ids.end(),
                    [&](int32_t a, int32_t b) { return of(a) > of(b) || (of(a) == of(b) && a < b); });
  std::vector<std::pair<int32_t, double>> likeliest;
  for (auto id = ids.begin(); id != last; ++id) likeliest.emplace_back(*id, of(*id));
  return likeliest;
}

}  // namespace

TextSlots::TextSlots(SessionGroup& group, const PromptText& tokenizer, const DraftSetup& drafts, size_t most_waiting)
    : group_(group), tokenizer_(tokenizer), most_waiting_(most_waiting) {
  for (size_t i = 0; i < group.size(); ++i) slots_.push_back(std::make_unique<Slot>(group, drafts, i));
}

TextSlots::~TextSlots() = default;

bool TextSlots::submit(std::vector<std::unique_ptr<TextJob>> jobs) {
  const std::lock_guard lock(mutex_);
  forget_cancelled();
  const size_t free = slots_.size() - static_cast<size_t>(counts_.busy);
  if (!closed_ && waiting_.size() + jobs.size() > most_waiting_ + free) return false;
  for (auto& job : jobs)
    if (closed_)
      job->fail(ended_early);
    else
      waiting_.push_back(std::move(job));
  came_.notify_one();
  return true;
}

void TextSlots::forget_cancelled() {
  std::erase_if(waiting_, [](const auto& job) { return job->cancelled(); });
}

SlotCounts TextSlots::counts() const {
  const std::lock_guard lock(mutex_);
  SlotCounts counts = counts_;
  counts.waiting = std::ssize(waiting_);
  return counts;
}

std::vector<bool> TextSlots::busy_slots() const {
  const std::lock_guard lock(mutex_);
  std::vector<bool> busy;
  for (const auto& slot : slots_) busy.push_back(slot->busy);
  return busy;
}

void TextSlots::run(const std::function<bool()>& ended) {
  try {
    while (!ended()) {
      {
        std::unique_lock lock(mutex_);
        if (counts_.busy == 0) came_.wait_for(lock, std::chrono::milliseconds(100), [&] { return !waiting_.empty(); });
      }
      hand_out();
      Slots writing;
      for (const auto& slot : slots_) {
        if (!slot->job) continue;
        if (slot->job->cancelled())
          finish(*slot, true);
        else if (slot->run < slot->job->task.prompt.size())
          run_prompt(*slot);
        else
          writing.push_back(slot.get());
      }
      if (!writing.empty()) write_tokens(writing);
    }
  } catch (const std::exception& error) {
    close(error.what());
    throw;
  }
  close(ended_early);
}

/// Each waiting job gets the free slot whose cache holds the most of its prompt, if that is half of either: a beginning
/// that all conversations have is no reason to lose one. Else that which began its last job first.
void TextSlots::hand_out() {
  while (true) {
    std::unique_ptr<TextJob> job;
    Slot* best = nullptr;
    {
      const std::lock_guard lock(mutex_);
      forget_cancelled();
      if (waiting_.empty()) return;
      const TextTask& task = waiting_.front()->task;
      const auto rank = [&](const Slot& slot) {
        const size_t kept = task.reuse ? slot.session.kept(task.prompt) : 0;
        const bool much = 2 * kept >= std::min(task.prompt.size(), slot.session.ids().size());
        return std::pair(much ? kept : 0, -slot.started);
      };
      for (const auto& slot : slots_)
        if (!slot->job && (!best || rank(*slot) > rank(*best))) best = slot.get();
      if (!best) return;
      job = std::move(waiting_.front());
      waiting_.pop_front();
      ++counts_.busy;
      best->busy = true;
    }
    try {
      start(*best, std::move(job));
    } catch (const Error& error) {
      fail(*best, error.what());
    }
  }
}

void TextSlots::start(Slot& slot, std::unique_ptr<TextJob> job) {
  slot.job = std::move(job);
  const TextTask& task = slot.job->task;
  slot.started = ++starts_;
  slot.end = {.prompt_tokens = std::ssize(task.prompt), .seed = task.config.seed};
  slot.run = 0;
  slot.speculation.count_anew();
  slot.begin = now();
  slot.tokens.clear();
  slot.characters = 0;
  slot.stops = StopTexts(task.stops);
  slot.text.emplace(tokenizer_, task.text, task.marks, [&slot](const std::string& piece, bool thought) {
    const std::string shown = thought ? piece : slot.stops.push(piece);
    if (shown.empty()) return;
    slot.job->write(shown, thought, thought ? std::vector<ReplyToken>() : std::exchange(slot.tokens, {}));
  });
  if (!task.reuse) slot.session.clear();
  const GeneratorShape& shape = slot.generator.shape();
  const int64_t needed = task.search->choices();
  slot.all_logits = needed == 0 || task.likeliest || needed > shape.choices || task.search->usable() != shape.usable;
  slot.generator.give_all_logits(slot.all_logits);
  slot.generator.expect(task.search->expected());
}

void TextSlots::run_prompt(Slot& slot) try {
  const TextTask& task = slot.job->task;
  // In pieces that do not depend on who else is there.
  const auto most = static_cast<size_t>(slot.generator.shape().run_positions);
  if (task.scored_prompt) return score_prompt(slot, most);
  const bool first = slot.run == 0;
  if (first) slot.run = slot.session.kept(task.prompt);
  slot.run = slot.generator.cut(task.prompt, std::min(task.prompt.size(), slot.run + most), true);
  const std::vector<float> logits = slot.session.begin(std::span(task.prompt).first(slot.run));
  if (first) slot.end.reused_tokens = slot.session.reused();
  if (slot.run < task.prompt.size()) return;
  slot.end.prompt_seconds = now() - slot.begin;
  slot.answer_begin = now();
  write_token(slot, logits, slot.generator.choices());
} catch (const DeviceLost&) {
  throw;
} catch (const Error& error) {
  fail(slot, error.what());
}

void TextSlots::score_prompt(Slot& slot, size_t most) {
  const TextTask& task = slot.job->task;
  const std::span prompt(task.prompt);
  if (slot.run == 0) note_token(slot, prompt.front(), NAN, {});
  // Nothing follows the last token, which begin() runs.
  const size_t begin = slot.run, count = std::min(most, prompt.size() - 1 - begin);
  slot.run += count;
  const auto next = prompt.subspan(begin + 1, count);
  // One program for any number of the likeliest.
  const TokenScores scores =
      slot.session.score(prompt.subspan(begin, count), next, *task.likeliest > 0 ? most_likeliest : 0);
  const size_t k = scores.likeliest.size() / std::max<size_t>(count, 1);
  const size_t kept = std::min(k, static_cast<size_t>(*task.likeliest));
  for (size_t i = 0; i < count; ++i) {
    std::vector<std::pair<int32_t, double>> likeliest;
    for (size_t j = i * k; j < i * k + kept; ++j)
      likeliest.emplace_back(scores.likeliest[j], scores.likeliest_log_probabilities[j]);
    note_token(slot, next[i], scores.log_probabilities[i], likeliest);
  }
  if (slot.run + 1 < prompt.size()) return;
  slot.job->write(*task.scored_prompt, false, std::exchange(slot.tokens, {}));
  slot.end.prompt_seconds = now() - slot.begin;
  slot.answer_begin = now();
  if (task.prompt_alone) return finish(slot, true);
  slot.run = prompt.size();
  const std::vector<float> logits = slot.session.begin(prompt);
  write_token(slot, logits, slot.generator.choices());
}

void TextSlots::note_token(Slot& slot, int32_t token, double log_probability,
                           std::span<const std::pair<int32_t, double>> likeliest) {
  const auto text = bytes_of(token);
  const auto name_of = [&](int32_t id, const std::optional<std::string>& bytes) {
    return bytes ? *bytes : tokenizer_.piece(id);
  };
  ReplyToken noted{.text = name_of(token, text), .log_probability = log_probability, .offset = slot.characters};
  for (const auto& [id, other] : likeliest) noted.likeliest.emplace_back(name_of(id, bytes_of(id)), other);
  // Bytes that go on with a character are none, special tokens are not shown, nor the space that SentencePiece begins
  // with.
  const auto& prompt = slot.job->task.scored_prompt;
  const bool added = prompt && slot.characters == 0 && text && text->starts_with(' ') && !prompt->starts_with(' ');
  slot.characters +=
      static_cast<size_t>(std::ranges::count_if(
          text.value_or(""), [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; })) -
      (added ? 1 : 0);
  slot.tokens.push_back(std::move(noted));
}

std::optional<std::string> TextSlots::bytes_of(int32_t id) const {
  try {
    return tokenizer_.bytes_of(id);
  } catch (const Error&) {  // of a tokenizer whose tokens depend on their neighbours
    return std::nullopt;
  }
}

void TextSlots::write_tokens(const Slots& slots) try {
  if (slots.size() == 1) return write_alone(*slots.front());
  const auto last = [](const Slot& slot) { return slot.job->task.search->ids(0).back(); };
  if (!group_.together_pays(slots.size())) {
    for (Slot* slot : slots) {
      const std::vector<float> logits = slot->session.append(last(*slot));
      write_token(*slot, logits, slot->generator.choices());
    }
    return;
  }
  std::vector<SessionGroup::Next> next;
  bool all_logits = false;
  for (const Slot* slot : slots) {
    next.push_back({slot->index, last(*slot)});
    all_logits = all_logits || slot->all_logits;
  }
  const std::vector<float> logits = group_.append(next, all_logits);
  const auto row = [&](const auto& rows, size_t i) {
    const size_t columns = rows.size() / slots.size();
    return std::span(rows).subspan(i * columns, columns);
  };
  for (size_t i = 0; i < slots.size(); ++i) write_token(*slots[i], row(logits, i), row(group_.choices(), i));
} catch (const DeviceLost&) {
  throw;
} catch (const Error& error) {
  for (Slot* slot : slots)
    if (slot->job) fail(*slot, error.what());
}

void TextSlots::write_alone(Slot& slot) {
  Search& search = *slot.job->task.search;
  slot.speculation.step(search.ids(0), [&](auto logits, auto choices) -> std::optional<int32_t> {
    write_token(slot, logits, choices);
    return slot.job ? std::optional(search.ids(0).back()) : std::nullopt;
  });
}

void TextSlots::write_token(Slot& slot, std::span<const float> logits, std::span<const int32_t> choices) try {
  TextTask& task = slot.job->task;
  const size_t before = task.search->ids(0).size();
  std::vector<double> log_probabilities;
  if (task.likeliest) {
    log_probabilities.resize(logits.size());
    log_softmax(logits, log_probabilities);
  }
  task.search->advance(logits, choices);
  if (task.search->ids(0).size() == before) return finish(slot, false);  // nothing is possible
  ++slot.end.answer_tokens;
  const int32_t token = task.search->ids(0).back();
  const bool ended = task.config.ends(token);
  // A completion's end is one of its tokens, for programs that count them; thoughts and marks are not the answer's.
  const AnswerPart part = ended ? AnswerPart::header : slot.text->enter(token);
  const bool noted = ended ? !task.in_parts : part == AnswerPart::answer;
  if (part == AnswerPart::thought) ++slot.end.thought_tokens;
  if (task.likeliest && noted) {
    const auto place = static_cast<size_t>(token);
    note_token(slot, token, log_probabilities[place], likeliest_of(log_probabilities, *task.likeliest));
  }
  if (!ended) slot.text->add(token);
  if (ended || slot.stops.found() || task.search->done()) finish(slot, !ended && !slot.stops.found());
} catch (const Error& error) {  // logits that are no numbers: nobody else's
  fail(slot, error.what());
}

void TextSlots::fail(Slot& slot, const std::string& why) {
  slot.job->fail(why);
  finish(slot, true);
}

void TextSlots::finish(Slot& slot, bool cut) {
  if (slot.text) slot.text->end();
  const std::string rest = slot.stops.end();
  const bool untold = !slot.tokens.empty() && !slot.stops.found();  // tokens that make no character
  if (!rest.empty() || untold) slot.job->write(rest, false, std::exchange(slot.tokens, {}));
  slot.end.cut = cut && !slot.stops.found();
  slot.end.guessed_tokens = slot.speculation.guessed();
  slot.end.held_tokens = slot.speculation.held();
  slot.end.stop = slot.stops.which();
  if (slot.answer_begin > 0) slot.end.answer_seconds = now() - slot.answer_begin;
  {
    const std::lock_guard lock(mutex_);
    slot.busy = false;
    --counts_.busy;
    ++counts_.jobs;
    counts_.prompt_tokens += std::max<int64_t>(static_cast<int64_t>(slot.run) - slot.end.reused_tokens, 0);
    counts_.answer_tokens += slot.end.answer_tokens;
    counts_.prompt_seconds += slot.end.prompt_seconds;
    counts_.answer_seconds += slot.end.answer_seconds;
  }
  slot.job->finish(slot.end);
  slot.job.reset();
  slot.answer_begin = 0;
}

void TextSlots::close(const std::string& why) {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (const auto& job : waiting_) job->fail(why);
  waiting_.clear();
  for (const auto& slot : slots_)
    if (slot->job) std::exchange(slot->job, nullptr)->fail(why);
}

}  // namespace vkformer
