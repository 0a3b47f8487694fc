// What is said in recordings: the transcriber over a model of random weights.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/audio/log_mel.h"
#include "models/families/registry.h"
#include "models/generation/prepared_search.h"
#include "models/parameters.h"
#include "models/text/decoders.h"
#include "models/text/tokenizer_training.h"
#include "models/transcription/transcriber.h"
#include "runtime/check.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"
#include "tests/sound_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Windows of a second: 50 positions of the encoder.
Model listening_model(int64_t vocabulary) {
  const nlohmann::json config = {{"model_type", "whisper"},
                                 {"d_model", 12},
                                 {"encoder_layers", 1},
                                 {"decoder_layers", 1},
                                 {"encoder_attention_heads", 2},
                                 {"decoder_attention_heads", 2},
                                 {"encoder_ffn_dim", 16},
                                 {"decoder_ffn_dim", 16},
                                 {"num_mel_bins", 8},
                                 {"max_source_positions", 50},
                                 {"max_target_positions", 14},
                                 {"init_std", 0.4},
                                 {"vocab_size", vocabulary}};
  return make_model(JsonObject::parse(config.dump(), "config.json"));
}

struct Listener {
  std::unique_ptr<Backend> backend = make_reference_backend();
  Tokenizer tokenizer{JsonObject::parse(
      train_tokenizer(
          std::vector<std::string>{"one two three"},
          {.kind = TokenizerTraining::Kind::byte_bpe, .layout = TokenizerTraining::Layout::speech, .size = 1770})
          .dump(),
      "tokenizer.json")};
  Model model = listening_model(tokenizer.size());
  SpeechTokens tokens = speech_tokens_of(tokenizer, "tokenizer.json", model, JsonObject::parse("{}", "x.json"));
  std::shared_ptr<Store> weights;

  Listener() {
    weights = make_model_store(*backend, model);
    initialize(*weights, model.parameters, 5);
    suppress(tokenizer.size());
  }
  /// Random weights would write special tokens most of the time: none from behind the end to this one comes.
  void suppress(int64_t end) {
    tokens.never.clear();
    for (int32_t id = tokens.start; id < end; ++id) tokens.never.push_back(id);
  }
  std::vector<SpeechSegment> hear(const std::vector<float>& samples, const TranscribeSettings& settings,
                                  const SpeechTask& task = {.times = false}) {
    Transcriber transcriber(*backend, model, weights, tokenizer, tokens, usual_mel_settings(model), settings);
    std::vector<SpeechSegment> segments;
    transcriber.transcribe(samples, task, [&](const SpeechSegment& segment) { segments.push_back(segment); });
    return segments;
  }
};

}  // namespace

TEST_CASE("a vocabulary for speech has Whisper's tokens as its last ids", "[speech]") {
  const Listener listener;
  const SpeechTokens& tokens = listener.tokens;
  CHECK(listener.tokenizer.size() - tokens.first_time == 1501);
  CHECK(listener.tokenizer.id_of("<|0.00|>") == tokens.first_time);
  CHECK(listener.tokenizer.id_of("<|12.34|>") == tokens.first_time + 617);
  CHECK(listener.tokenizer.id_of("<|30.00|>") == tokens.first_time + 1500);
  CHECK(tokens.start == tokens.end + 1);
  CHECK(tokens.languages.empty());
  CHECK(listener.tokenizer.decode(std::vector<int32_t>{tokens.first_time, 65, tokens.end}).size() == 1);
}

TEST_CASE("languages are those between Whisper's own tokens", "[speech]") {
  Listener listener;
  nlohmann::json json = train_tokenizer(
      std::vector<std::string>{"one two three"},
      {.kind = TokenizerTraining::Kind::byte_bpe, .layout = TokenizerTraining::Layout::speech, .size = 1770});
  // <|startofprev|> and so on lie behind the languages in Whisper's vocabularies; the first times become those here.
  auto& added = json["added_tokens"];
  const std::vector<std::string> names{"<|endoftext|>",  "<|startoftranscript|>", "<|en|>",        "<|yue|>",
                                       "<|translate|>",  "<|transcribe|>",        "<|startoflm|>", "<|startofprev|>",
                                       "<|nocaptions|>", "<|notimestamps|>"};
  for (size_t i = 0; i < names.size(); ++i) {
    json["model"]["vocab"].erase(added[i]["content"].get<std::string>());
    added[i]["content"] = names[i];
    json["model"]["vocab"][names[i]] = added[i]["id"];
  }
  const Tokenizer tokenizer(JsonObject::parse(json.dump(), "tokenizer.json"));
  const auto read = [&](const char* generation) {
    return speech_tokens_of(tokenizer, "tokenizer.json", listener.model, JsonObject::parse(generation, "x.json"));
  };
  const SpeechTokens tokens = read(R"({"suppress_tokens": [5], "begin_suppress_tokens": [6], "max_length": 448,
      "forced_decoder_ids": [[1, null], [2, 3]], "max_initial_timestamp_index": 20})");
  CHECK(tokens.languages == std::map<std::string, int32_t>{{"en", tokens.end + 2}, {"yue", tokens.end + 3}});
  CHECK(tokens.heading("yue", false, true) == std::vector<int32_t>{tokens.end + 3, tokens.end + 5});
  CHECK(tokens.heading("en", true, false) == std::vector<int32_t>{tokens.end + 2, tokens.end + 4, tokens.end + 9});
  CHECK(tokens.first_time == tokens.end + 10);
  CHECK(tokens.no_speech == tokens.end + 8);
  CHECK(tokens.previous == tokens.end + 7);
  CHECK(tokens.latest_start == 20);
  CHECK(tokens.never_first == std::vector<int32_t>{6});
  // Nothing that only a prompt says is ever written.
  for (const int32_t token : {5, tokens.start, tokens.end + 3, tokens.end + 8})
    CHECK(std::ranges::count(tokens.never, token) == 1);
  for (const int32_t token : {tokens.end, tokens.first_time}) CHECK(std::ranges::count(tokens.never, token) == 0);
  CHECK(read(R"({"is_multilingual": false})").languages.empty());
  CHECK_THAT(error_of([&] {
               speech_tokens_of(Tokenizer(JsonObject::load(fixtures / "tokenizers/gpt2/tokenizer.json")), "gpt2",
                                listener.model, JsonObject::parse("{}", "x.json"));
             }),
             ContainsSubstring("gpt2: the tokenizer has no token <|startoftranscript|>"));
}

TEST_CASE("a window is written as a search of the model alone writes it", "[speech]") {
  Listener listener;
  const auto samples = some_sound(0.9);
  const MelSettings mel = usual_mel_settings(listener.model);
  CHECK(mel.chunk_seconds == 1);
  for (const int64_t beams : {1, 3}) {
    PreparedSearch search =
        prepare_search(listener.model,
                       {.max_new_tokens = 12,
                        .num_beams = beams,
                        .eos_token_ids = {listener.tokens.end},
                        .suppress_tokens = listener.tokens.never},
                       log_mel(samples, mel), {{listener.tokens.start, listener.tokens.no_timestamps}});
    Generator generator(*listener.backend, listener.model, listener.weights, search.shape);
    run_search(generator, search);
    const std::string want = listener.tokenizer.decode(search.search->results()[0][0].ids);
    const auto got = listener.hear(samples, {.beams = beams, .temperatures = {}, .silence = 1});
    REQUIRE(got.size() == 1);
    CHECK(got[0].text == want);
    CHECK(got[0].begin == 0);
    CHECK(got[0].end == 0.9);
  }
}

TEST_CASE("windows follow one another to a recording's end", "[speech][long]") {
  Listener listener;
  const auto samples = some_sound(3.4);
  const auto whole = listener.hear(samples, {.beams = 1, .temperatures = {}, .silence = 1});
  REQUIRE(whole.size() == 4);
  for (size_t i = 0; i < 4; ++i) CHECK(std::abs(whole[i].begin - static_cast<double>(i)) < 1e-9);
  CHECK(std::abs(whole[3].end - 3.4) < 1e-9);
  // Each window is alone: its text is that of a recording of it.
  const std::vector<float> second(samples.begin() + 16000, samples.begin() + 32000);
  CHECK(whole[1].text == listener.hear(second, {.beams = 1, .temperatures = {}, .silence = 1})[0].text);
  // With times, segments are in order and within the recording.
  listener.suppress(listener.tokens.first_time);
  const auto timed = listener.hear(samples, {.beams = 2, .silence = 1}, {});
  REQUIRE_FALSE(timed.empty());
  double last = 0;
  for (const SpeechSegment& segment : timed) {
    CHECK(segment.begin >= last);
    CHECK(segment.end >= segment.begin);
    last = segment.begin;
  }
  CHECK(timed.back().end <= 3.4 + 1e-9);
  // The same again: draws follow one another from the same seed.
  const auto again = listener.hear(samples, {.beams = 2, .silence = 1}, {});
  REQUIRE(again.size() == timed.size());
  for (size_t i = 0; i < timed.size(); ++i) CHECK(again[i].text == timed[i].text);
  CHECK(listener.hear({}, {}).empty());
}

TEST_CASE("silence is left out, and a doubted text is drawn anew", "[speech]") {
  Listener listener;
  const auto samples = some_sound(0.9);
  TranscribeSettings settings{.beams = 2, .least_log_probability = 0, .temperatures = {}, .silence = 1};
  const std::string first = listener.hear(samples, settings).at(0).text;
  // No token is certain, so every text is doubted; "nobody speaks" is likelier than never.
  settings.silence = -1;
  settings.temperatures = {1};
  CHECK(listener.hear(samples, settings).empty());
  settings.silence = 1;
  const std::string drawn = listener.hear(samples, settings).at(0).text;
  CHECK(drawn != first);
  CHECK(drawn == listener.hear(samples, settings).at(0).text);
  // Draws of a recording do not depend on those before it.
  Transcriber transcriber(*listener.backend, listener.model, listener.weights, listener.tokenizer, listener.tokens,
                          usual_mel_settings(listener.model), settings);
  for (const auto& recording : {some_sound(0.4), samples}) {
    std::string text;
    transcriber.transcribe(recording, {.times = false}, [&](const SpeechSegment& segment) { text = segment.text; });
    if (recording.size() == samples.size()) CHECK(text == drawn);
  }
}

TEST_CASE("words are those of the text, one behind the other", "[speech]") {
  Listener listener;
  const auto samples = some_sound(1.9);
  const TranscribeSettings settings{.beams = 1, .temperatures = {}, .silence = 1};
  const auto plain = listener.hear(samples, settings),
             timed = listener.hear(samples, settings, {.times = false, .words = true});
  REQUIRE((plain.size() == 2 && timed.size() == 2));
  double last = 0;
  for (size_t i : {0, 1}) {
    CHECK(timed[i].text == plain[i].text);
    CHECK(plain[i].words.empty());
    std::string letters, wanted;
    for (const SpokenWord& word : timed[i].words) {
      letters += word.text;
      CHECK((word.begin >= last && word.end >= word.begin && word.end <= 1.9));
      CHECK((word.probability > 0 && word.probability < 1));
      last = word.end;
    }
    for (const int32_t id : timed[i].ids) wanted += listener.tokenizer.bytes_of(id).value_or("");
    const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
    std::erase_if(letters, is_blank);
    std::erase_if(wanted, is_blank);
    CHECK(letters == valid_utf8(wanted));
    CHECK(timed[i].end == timed[i].words.back().end);
  }
}

TEST_CASE("a text may be drawn from the first, and told of what stood behind it", "[speech]") {
  Listener listener;
  const auto samples = some_sound(0.9);
  const TranscribeSettings settings{.beams = 2, .least_log_probability = -100, .temperatures = {0.5, 1}, .silence = 1};
  const SpeechSegment likeliest = listener.hear(samples, settings).at(0);
  CHECK(likeliest.temperature == 0);
  CHECK(likeliest.log_probability < 0);
  CHECK(listener.tokenizer.decode(likeliest.ids) == likeliest.text);
  const SpeechSegment drawn = listener.hear(samples, settings, {.times = false, .temperature = 0.7}).at(0);
  CHECK(drawn.temperature == 0.7);
  CHECK(drawn.text != likeliest.text);
  // One that is doubted is drawn anew above its own temperature, not below.
  TranscribeSettings doubting = settings;
  doubting.least_log_probability = 0;
  CHECK(listener.hear(samples, doubting, {.times = false, .temperature = 0.7}).at(0).temperature == 1);
}

TEST_CASE("recordings of one transcriber have tasks of their own, and may be left", "[speech]") {
  Listener listener;
  const auto samples = some_sound(1.9);
  const TranscribeSettings settings{.beams = 1, .temperatures = {}, .silence = 1};
  Transcriber transcriber(*listener.backend, listener.model, listener.weights, listener.tokenizer, listener.tokens,
                          usual_mel_settings(listener.model), settings);
  const auto told = [&](const SpeechTask& task) {
    std::string text;
    transcriber.transcribe(samples, task, [&](const SpeechSegment& segment) { text += segment.text; });
    return text;
  };
  const std::string alone = told({.times = false}), prompted = told({.times = false, .before = "one"});
  CHECK(prompted != alone);
  CHECK(told({.times = false}) == alone);
  struct Left {};
  size_t told_of = 0, segments = 0;
  const auto leave_in_second = [&](double seconds) {
    ++told_of;
    if (seconds == 1 && segments == 1) throw Left();
  };
  CHECK_THROWS_AS(transcriber.transcribe(
                      samples, {.times = false}, [&](const SpeechSegment&) { ++segments; }, leave_in_second),
                  Left);
  CHECK(segments == 1);
  CHECK(told_of > 2);  // between tokens, too
  CHECK(told({.times = false}) == alone);
}

TEST_CASE("a rest of less than a frame is no window", "[speech]") {
  Listener listener;
  const TranscribeSettings settings{.beams = 1, .temperatures = {}, .silence = 1};
  auto samples = some_sound(1);
  for (const size_t more : {1, 159}) {
    samples.resize(16000 + more);
    CHECK(listener.hear(samples, settings).size() == 1);
  }
  samples.resize(16160);
  CHECK(listener.hear(samples, settings).size() == 2);
  CHECK(listener.hear({0.5f}, settings).size() == 1);
}

TEST_CASE("the language is the likeliest behind the start, unless it is told", "[speech]") {
  Listener listener;
  // Of a model of many languages, some of its special tokens mean these.
  SpeechTokens& tokens = listener.tokens;
  tokens.languages = {{"de", tokens.first_time + 1}, {"en", tokens.first_time + 2}, {"fr", tokens.first_time + 3}};
  tokens.transcribe = tokens.first_time + 4;
  const auto samples = some_sound(0.9);
  const TranscribeSettings settings{.beams = 1, .temperatures = {}, .silence = 1};
  Generator generator(*listener.backend, listener.model, listener.weights,
                      transcription_shape(listener.model, usual_mel_settings(listener.model), settings));
  generator.encode(log_mel(samples, usual_mel_settings(listener.model)));
  const std::vector<float> heard = generator.prefill(std::vector<int32_t>{tokens.start});
  std::string likeliest = "de";
  for (const auto& [code, id] : tokens.languages)
    if (heard[static_cast<size_t>(id)] > heard[static_cast<size_t>(tokens.languages.at(likeliest))]) likeliest = code;
  const auto detected = listener.hear(samples, settings);
  CHECK(detected.at(0).language == likeliest);
  for (const char* code : {"de", "en", "fr"}) {
    const auto segments = listener.hear(samples, settings, {.language = code, .times = false});
    CHECK(segments.at(0).language == code);
    if (code == likeliest) CHECK(segments.at(0).text == detected[0].text);
  }
}

TEST_CASE("what was said before stands before a transcript", "[speech]") {
  Listener listener;
  const auto samples = some_sound(0.9);
  const MelSettings mel = usual_mel_settings(listener.model);
  std::vector<int32_t> prompt{*listener.tokens.previous};
  const auto ids = listener.tokenizer.encode(" one", false).ids;
  prompt.insert(prompt.end(), ids.begin(), ids.end());
  prompt.insert(prompt.end(), {listener.tokens.start, listener.tokens.no_timestamps});
  const int64_t room = listener.model.context - std::ssize(prompt);
  PreparedSearch search = prepare_search(
      listener.model,
      {.max_new_tokens = room, .eos_token_ids = {listener.tokens.end}, .suppress_tokens = listener.tokens.never},
      log_mel(samples, mel), {prompt});
  Generator generator(*listener.backend, listener.model, listener.weights, search.shape);
  run_search(generator, search);
  const std::vector<int32_t> all = search.search->results()[0][0].ids;
  const std::string want = listener.tokenizer.decode(std::vector<int32_t>(all.begin() + std::ssize(prompt), all.end()));
  CHECK(listener.hear(samples, {.beams = 1, .temperatures = {}, .silence = 1}, {.times = false, .before = "one"})[0]
            .text == want);
}

TEST_CASE("what a transcriber can't do is refused", "[speech]") {
  Listener listener;
  const auto refused = [&](const SpeechTask& task) {
    return error_of([&] { listener.hear(some_sound(0.1), {}, task); });
  };
  CHECK_THAT(refused({.language = "de"}), ContainsSubstring("English alone"));
  CHECK_THAT(refused({.translate = true}), ContainsSubstring("can't translate"));
  const Model text = model_of(fixture_config("gpt2"));
  CHECK_THAT(error_of([&] { static_cast<void>(usual_mel_settings(text)); }), ContainsSubstring("reads no sound"));
  SpeechTokens many = listener.tokens;
  many.languages = {{"de", 3}, {"en", 4}};
  CHECK(many.language("de") == 3);
  CHECK_THAT(error_of([&] { static_cast<void>(many.language("xx")); }), ContainsSubstring("de, en"));
}
