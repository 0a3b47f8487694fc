#include "tools/cli/text_writer.h"

#include "models/generation/beam_search.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/progress.h"

namespace vkformer {

namespace {

// Beyond the context the model goes on from the last half of it: positions are learned, the cache can't slide.
std::span<const int32_t> last_of(std::span<const int32_t> ids, int64_t most) {
  return ids.last(std::min(static_cast<size_t>(most), ids.size()));
}

}  // namespace

TextWriter::TextWriter(Generator& generator, const PromptText& tokenizer, const GenerationConfig& config,
                       int64_t vocabulary, const std::vector<int32_t>& prompt, const DraftSetup& drafts)
    : generator_(generator),
      tokenizer_(tokenizer),
      config_(config),
      vocabulary_(vocabulary),
      prompt_(prompt),
      session_(generator),
      speculation_(drafts.speculation(generator, session_)) {}

void TextWriter::begin() {
  const int64_t positions = std::min<int64_t>(std::ssize(prompt_), generator_.capacity());
  if (in_cache_ && generator_.kept(positions) == positions) return session_.keep(static_cast<size_t>(positions));
  session_.clear();
  logits_ = session_.begin(last_of(prompt_, generator_.capacity()));
  choices_.assign(generator_.choices().begin(), generator_.choices().end());
  in_cache_ = true;
}

WrittenText TextWriter::write(uint64_t number, const std::function<void(const std::string&)>& emit) {
  const auto search = make_search(config_, {prompt_}, vocabulary_);
  search->set_number(0, number);
  const auto continuation = tokenizer_.stream(prompt_);
  WrittenText text;
  const auto add = [&](const std::string& piece) {
    text.completion += piece;
    emit(piece);
  };
  const double start = now();
  const auto choose = [&](auto scores, auto choices) -> std::optional<int32_t> {
    search->advance(scores, choices);
    const auto history = search->ids(0);
    if (text.tokens++ == 0) text.first_seconds = now() - start;
    const bool written = history.size() == prompt_.size() + static_cast<size_t>(text.tokens);
    if (written && !config_.ends(history.back())) add(continuation(history.back()));
    if (search->done() || end_was_asked()) return std::nullopt;
    return history.back();
  };
  // Where the text is longer than the context, the cache begins in its midst.
  const auto expect = [&] {
    generator_.expect(search->expected(std::ssize(search->ids(0)) - std::ssize(session_.ids())));
  };
  begin();
  expect();
  catch_end_signals();  // what has been written and measured until then counts
  auto last = choose(std::span(logits_), std::span(choices_));
  while (last) {
    if (std::ssize(session_.ids()) < generator_.capacity()) {
      last = speculation_.step(search->ids(0), choose);
      continue;
    }
    if (text.note.empty())
      text.note = fmt::format("; from token {} on with the last half of the {} positions", text.tokens + 1,
                              generator_.capacity());
    const std::vector<float> logits =
        session_.begin(last_of(search->ids(0), std::max<int64_t>(1, generator_.capacity() / 2)));
    in_cache_ = false;
    expect();
    last = choose(std::span(logits), generator_.choices());
  }
  add(continuation({}));
  text.end = end_of(config_, search->ids(0).subspan(prompt_.size()), std::ssize(prompt_));
  text.rest_seconds = now() - start - text.first_seconds;
  return text;
}

}  // namespace vkformer
