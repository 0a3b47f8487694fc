#include "models/transcription/transcriber.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/audio/log_mel.h"
#include "models/transcription/timestamp_rule.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// A row's logits as the logarithms of what the rules leave of their softmax.
void apply_rules(const LogitsRules& rules, std::span<const int32_t> ids, int64_t generated,
                 std::span<const float> logits, std::vector<double>& chances) {
  chances.assign(logits.begin(), logits.end());
  rules.apply(ids, generated, chances);
  const double largest = *std::ranges::max_element(chances);
  double sum = 0;
  for (const double chance : chances) sum += std::exp(chance - largest);
  for (double& chance : chances) chance -= largest + std::log(sum);
}

/// A text that repeats itself: of its pairs of neighbours less than this share are unlike. (The reference asks zlib
/// whether a text shrinks to less than 1 / 2.4.)
constexpr double least_unlike = 1 / 2.4;
constexpr size_t fewest_pairs = 16;

bool repeats(std::span<const int32_t> ids) {
  if (ids.size() <= fewest_pairs) return false;
  std::set<std::pair<int32_t, int32_t>> unlike;
  for (size_t i = 1; i < ids.size(); ++i) unlike.emplace(ids[i - 1], ids[i]);
  return static_cast<double>(unlike.size()) < least_unlike * static_cast<double>(ids.size() - 1);
}

}  // namespace

GeneratorShape transcription_shape(const Model& model, const MelSettings& mel, const TranscribeSettings& settings) {
  check(model.frame_columns > 0, "a {} model reads no sound; Whisper's do", model.family);
  check(mel.mels == model.frame_columns, "the folder's features have {} mel filters, the model reads {}", mel.mels,
        model.frame_columns);
  const int64_t positions = mel.frames() / model.frames_per_position;
  check(positions <= model.source_limit(), "the folder's windows of {} s are {} positions, the model has {}",
        mel.chunk_seconds, positions, model.source_limit());
  return {.rows = settings.beams,
          .capacity = model.context,
          .cache_type = settings.cache_type,
          .source_positions = positions};
}

MelSettings usual_mel_settings(const Model& model) {
  check(model.frame_columns > 0, "a {} model reads no sound; Whisper's do", model.family);
  MelSettings mel{.mels = model.frame_columns};
  const int64_t samples = model.source_limit() * model.frames_per_position * mel.hop;
  check(samples % mel.rate == 0,
        "windows of {} positions of the encoder are no whole seconds; give the folder's "
        "preprocessor_config.json",
        model.source_limit());
  mel.chunk_seconds = samples / mel.rate;
  return mel;
}

Transcriber::Transcriber(Backend& backend, const Model& model, std::shared_ptr<Store> weights,
                         const Tokenizer& tokenizer, SpeechTokens tokens, const MelSettings& mel,
                         TranscribeSettings settings)
    : model_(model),
      tokenizer_(tokenizer),
      tokens_(std::move(tokens)),
      mel_(mel),
      settings_(std::move(settings)),
      rule_(std::make_shared<TimestampRule>(tokens_)),
      generator_(backend, model, std::move(weights), transcription_shape(model, mel, settings_)),
      aligner_(model, generator_, tokens_.alignment_heads, tokens_.end) {}

std::vector<float> Transcriber::listen(std::span<const float> samples) {
  generator_.encode(log_mel(samples, mel_));
  std::vector<float> logits =
      generator_.prefill(std::vector<int32_t>(static_cast<size_t>(settings_.beams), tokens_.start));
  logits.resize(static_cast<size_t>(model_.vocabulary));
  check_results(logits, logits.size());
  return logits;
}

std::vector<int32_t> Transcriber::prompt(const SpeechTask& task, const std::string& language) const {
  check(!task.translate || (tokens_.translate && !tokens_.languages.empty()),
        "this model knows English alone; it can't translate");
  if (!language.empty()) static_cast<void>(tokens_.language(language));
  std::vector<int32_t> ids;
  if (!task.before.empty()) {
    check(tokens_.previous.has_value(), "this model's tokenizer has no <|startofprev|>, behind which a prompt stands");
    ids = tokenizer_.encode(" " + task.before, false).ids;
    // The last ones, in half of the context, as the reference has it.
    const size_t most = std::min(ids.size(), static_cast<size_t>(model_.context / 2 - 1));
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(most));
    ids.insert(ids.begin(), *tokens_.previous);
  }
  const auto most = std::ssize(ids) + 4;  // start, language, task, no times
  check(most + 2 <= model_.context, "the model's {} positions leave no room behind a prompt of {}; shorten it",
        model_.context, most);
  ids.push_back(tokens_.start);
  if (language.empty() && !tokens_.languages.empty()) return ids;
  const std::vector<int32_t> heading = tokens_.heading(language, task.translate, task.times);
  ids.insert(ids.end(), heading.begin(), heading.end());
  return ids;
}

Transcriber::Written Transcriber::write(const std::vector<int32_t>& prompt, bool times, double temperature,
                                        const std::function<void()>& watch) {
  const auto rows = static_cast<size_t>(settings_.beams);
  const bool draws = temperature > 0;
  GenerationConfig config{.max_new_tokens = model_.context - std::ssize(prompt),
                          .num_beams = draws ? 1 : settings_.beams,
                          .eos_token_ids = {tokens_.end},
                          .suppress_tokens = tokens_.never,
                          .begin_suppress_tokens = tokens_.never_first,
                          .renormalize_logits = true,
                          .do_sample = draws,
                          .temperature = temperature,
                          .top_k = 0,
                          .seed = draws_,
                          .constraint = times ? rule_ : nullptr};
  for (int32_t id = tokens_.no_timestamps; !times && id < model_.vocabulary; ++id) config.suppress_tokens.push_back(id);
  if (draws) ++draws_;
  const std::vector<std::vector<int32_t>> prompts(draws ? rows : 1, prompt);
  PreparedSearch prepared{.shape = generator_.shape(),
                          .prompt = std::ssize(prompt),
                          .search = make_search(config, prompts, model_.vocabulary)};
  const Search& search = *prepared.search;
  // Of rows of their own, sums of log-probabilities and numbers of tokens, ends included.
  const LogitsRules rules(config, std::ssize(prompt), model_.vocabulary);
  std::vector<double> sums(rows), chances;
  std::vector<int64_t> counts(rows);
  const auto columns = static_cast<size_t>(model_.vocabulary);
  std::span<const float> logits;
  const auto add_chances = [&] {
    watch();
    for (size_t row = 0; config.num_beams == 1 && row < rows; ++row) {
      const auto ids = search.ids(static_cast<int64_t>(row));
      if (std::ssize(ids) - std::ssize(prompt) == counts[row]) continue;  // it has ended
      apply_rules(rules, ids.first(ids.size() - 1), counts[row], logits.subspan(row * columns, columns), chances);
      sums[row] += chances[static_cast<size_t>(ids.back())];
      ++counts[row];
    }
    return true;
  };
  run_search(
      generator_, prepared, [&](std::span<const float> step) { logits = step; }, add_chances);
  const auto results = search.results();
  Written best{.ids = {}, .log_probability = -INFINITY, .temperature = temperature};
  for (size_t row = 0; row < results.size(); ++row) {
    if (results[row].empty()) continue;
    const double mean = config.num_beams > 1 ? results[row][0].score
                                             : sums[row] / static_cast<double>(std::max<int64_t>(counts[row], 1));
    if (mean > best.log_probability)
      best = {{results[row][0].ids.begin() + std::ssize(prompt), results[row][0].ids.end()}, mean, temperature};
  }
  return best;
}

std::optional<Transcriber::Written> Transcriber::write_well(const std::vector<int32_t>& prompt, const SpeechTask& task,
                                                            double silence, const std::function<void()>& watch) {
  Written written = write(prompt, task.times, task.temperature, watch);
  const auto& temperatures = settings_.temperatures;
  while (true) {
    const bool unlikely = written.log_probability < settings_.least_log_probability;
    if (unlikely && silence > settings_.silence) return std::nullopt;
    std::vector<int32_t> text = written.ids;
    std::erase_if(text, [this](int32_t id) { return id >= tokens_.end; });
    const auto next = std::ranges::find_if(temperatures, [&](double other) { return other > written.temperature; });
    if (next == temperatures.end() || !(unlikely || repeats(text))) return written;
    written = write(prompt, task.times, *next, watch);
  }
}

void Transcriber::time_words(std::span<SpeechSegment> segments, const SpeechTask& task, size_t samples,
                             double& spoken) {
  if (segments.empty()) return;
  const std::string& language = segments.front().language;
  std::vector<int32_t> ids = tokens_.heading(language, task.translate, false);
  const size_t first = ids.size();  // of the tokens behind which text comes
  ids.insert(ids.begin(), tokens_.start);
  std::vector<std::string> bytes;
  for (const SpeechSegment& segment : segments)
    for (const int32_t id : segment.ids) {
      ids.push_back(id);
      bytes.push_back(tokenizer_.bytes_of(id).value_or(""));
    }
  if (std::ssize(ids) < model_.context) ids.push_back(tokens_.end);
  const TokenAlignment alignment = aligner_.align(ids);
  const auto samples_of_position = static_cast<size_t>(mel_.hop * model_.frames_per_position);
  const size_t seen = std::clamp<size_t>(samples / samples_of_position, 1, alignment.weights.positions);
  const std::vector<double> matrix = token_positions(alignment.weights, first, bytes.size() + 1, seen);
  std::vector<double> begins;
  for (const size_t position : token_begins(matrix, bytes.size() + 1))
    begins.push_back(static_cast<double>(position * samples_of_position) / static_cast<double>(mel_.rate));
  // Languages that put no blanks between words.
  static const std::set<std::string> joined = {"zh", "ja", "th", "lo", "my", "yue"};
  std::vector<TimedWord> words = split_into_words(bytes, !task.translate && joined.contains(language));
  const double usual = give_times(words, begins, std::span(alignment.probabilities).subspan(first, bytes.size()));
  give_words(segments, words, segments.front().window, usual, spoken);
}

std::string Transcriber::transcribe(std::span<const float> samples, const SpeechTask& task,
                                    const std::function<void(const SpeechSegment&)>& take,
                                    const std::function<void(double)>& watch) {
  check_task(task);
  const auto rate = static_cast<double>(mel_.rate);
  const auto window = static_cast<size_t>(mel_.samples()), frame = static_cast<size_t>(mel_.hop);
  std::string language = task.language;
  draws_ = 0;
  double spoken = 0;
  // What is shorter than a frame at the end is no window of its own, unless it is all.
  for (size_t begin = 0; begin < samples.size() && (begin == 0 || samples.size() - begin >= frame);) {
    const auto own = samples.subspan(begin, std::min(window, samples.size() - begin));
    const double seconds = static_cast<double>(own.size()) / rate, offset = static_cast<double>(begin) / rate;
    const std::vector<float> heard = listen(own);
    if (language.empty() && !tokens_.languages.empty())
      language = std::ranges::max_element(tokens_.languages, {}, [&](const auto& entry) {
                   return heard[static_cast<size_t>(entry.second)];
                 })->first;
    std::vector<double> chances(heard.size());
    log_softmax(heard, chances);
    const double silence = tokens_.no_speech ? std::exp(chances[static_cast<size_t>(*tokens_.no_speech)]) : 0;
    const auto watch_here = [&] {
      if (watch) watch(offset);
    };
    const std::optional<Written> written = write_well(prompt(task, language), task, silence, watch_here);
    WindowSegments parts{.segments = {}, .seconds = seconds};
    if (written && task.times)
      parts = split_at_times(written->ids, seconds, tokens_);
    else if (written)
      parts.segments.push_back({.begin = 0, .end = seconds, .ids = written->ids});
    std::vector<SpeechSegment> segments;
    for (TimedTokens& part : parts.segments) {
      const std::string text = tokenizer_.decode(part.ids);
      if (text.find_first_not_of(" \t\n") == std::string::npos) continue;
      std::erase_if(part.ids, [this](int32_t id) { return id >= tokens_.end; });
      segments.push_back({.begin = offset + part.begin,
                          .end = offset + part.end,
                          .text = text,
                          .language = language,
                          .ids = part.ids,
                          .timed = task.words,
                          .window = offset,
                          .temperature = written->temperature,
                          .log_probability = written->log_probability,
                          .silence = silence});
    }
    if (task.words) time_words(segments, task, own.size(), spoken);
    std::ranges::for_each(segments, take);
    // Times that do not go on would be read for ever.
    const auto read = static_cast<size_t>(std::llround(parts.seconds * rate));
    begin += read >= frame ? std::min(read, own.size()) : own.size();
    if (watch) watch(static_cast<double>(begin) / rate);
  }
  return language;
}

}  // namespace vkformer
