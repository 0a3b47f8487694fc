// What a server of speech is asked, and what it answers.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/serving/speech_reply.h"
#include "runtime/check.h"
#include "tests/fuzz_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

const FormField sound_file{.name = "file", .file = "a\n.wav", .value = "RIFF"};

std::string form_refusal(std::vector<FormField> form) {
  form.push_back(sound_file);
  try {
    parse_speech_request(form, false);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Two segments of one window of 2.5 s, the second of which begins within a character.
SpeechReply some_reply() {
  return {.seconds = 2.50004,
          .language = "de",
          .segments = {{.begin = 0, .end = 1.2, .text = " Guten Tag.", .language = "de", .ids = {7, 8}},
                       {.begin = 1.2,
                        .end = 2.5,
                        .text = " Auf\xff Wiedersehen. ",
                        .language = "de",
                        .ids = {9},
                        .window = 1.2,
                        .temperature = 0.5,
                        .log_probability = -0.25,
                        .silence = 0.125}}};
}

std::string body_in(SpeechFormat format) { return body_of(some_reply(), {.format = format}); }

}  // namespace

TEST_CASE("forms say what is to be written down and how", "[serving]") {
  std::vector<FormField> form = {sound_file};
  SpeechRequest request = parse_speech_request(form, false);
  CHECK(request.audio == "RIFF");
  CHECK(request.name == "a\\n.wav");
  CHECK(request.format == SpeechFormat::json);
  CHECK(request.task.times);
  CHECK_FALSE(request.task.translate);
  CHECK(request.task.language.empty());
  CHECK(request.task.temperature == 0);
  for (const auto& [name, value] :
       {std::pair("model", "whisper-1"), std::pair("language", "de"), std::pair("prompt", "Vulkan"),
        std::pair("response_format", "verbose_json"), std::pair("temperature", "0.5"), std::pair("stream", "false"),
        std::pair("timestamp_granularities[]", "segment"), std::pair("whatever", "1")})
    form.push_back({.name = name, .value = value});
  request = parse_speech_request(form, true);
  CHECK(request.format == SpeechFormat::verbose_json);
  CHECK(request.task.translate);
  CHECK_FALSE(request.task.words);
  CHECK(request.task.language == "de");
  CHECK(request.task.before == "Vulkan");
  CHECK(request.task.temperature == 0.5);
  form.push_back({.name = "timestamp_granularities[]", .value = "word"});
  CHECK(parse_speech_request(form, false).task.words);
  CHECK_THAT(form_refusal({form.back()}), ContainsSubstring("need \"response_format\" verbose_json"));
  form[2].value = "auto";
  CHECK(parse_speech_request(form, false).task.language.empty());
}

TEST_CASE("forms for what is not there are refused, by name", "[serving]") {
  CHECK(form_refusal({}).empty());
  CHECK_THROWS_AS(parse_speech_request({}, false), Error);
  CHECK_THAT(form_refusal({sound_file}), ContainsSubstring("\"file\" more than once"));
  for (const auto& [name, value] :
       {std::pair("stream", "true"), std::pair("include[]", "logprobs"),
        std::pair("timestamp_granularities[]", "token"), std::pair("timestamp_granularities", "token"),
        std::pair("response_format", "diarized_json"), std::pair("temperature", "1.5"),
        std::pair("temperature", "-0.1"), std::pair("temperature", "nan"), std::pair("temperature", "0.5x"),
        std::pair("language", "\xff"), std::pair("prompt", "\xff")})
    CHECK_THAT(form_refusal({{.name = name, .value = value}}), ContainsSubstring(std::string("\"") + name + '"'));
}

TEST_CASE("transcripts are answered in OpenAI's forms", "[serving]") {
  CHECK(json::parse(body_in(SpeechFormat::json)) == json{{"text", "Guten Tag. Auf\uFFFD Wiedersehen."}});
  CHECK(body_in(SpeechFormat::text) == "Guten Tag. Auf\xff Wiedersehen.\n");
  CHECK_THAT(body_in(SpeechFormat::srt), ContainsSubstring("2\n00:00:01,200 --> 00:00:02,500\nAuf"));
  CHECK_THAT(body_in(SpeechFormat::vtt), ContainsSubstring("WEBVTT\n\n00:00:00.000 --> 00:00:01.200\nGuten Tag.\n\n"));
  const json verbose = json::parse(body_in(SpeechFormat::verbose_json));
  CHECK(verbose["task"] == "transcribe");
  CHECK(verbose["language"] == "de");
  CHECK(verbose["duration"] == 2.5);
  CHECK(verbose["segments"].size() == 2);
  CHECK(verbose["segments"][1] == json{{"id", 1},
                                       {"seek", 120},
                                       {"start", 1.2},
                                       {"end", 2.5},
                                       {"text", " Auf\uFFFD Wiedersehen. "},
                                       {"tokens", {9}},
                                       {"temperature", 0.5},
                                       {"avg_logprob", -0.25},
                                       {"no_speech_prob", 0.125}});
  const SpeechRequest translation{.task = {.translate = true}, .format = SpeechFormat::verbose_json};
  CHECK(json::parse(body_of({.segments = {}}, translation))["task"] == "translate");
  CHECK(json::parse(body_of({.segments = {}}, translation))["segments"] == json::array());
  const SpeechRequest of_words{.task = {.words = true}, .format = SpeechFormat::verbose_json};
  const SpeechSegment segment{.text = " Ah", .words = {{.begin = 0.5, .end = 1, .text = "Ah", .probability = 0.25}}};
  CHECK(json::parse(body_of({.segments = {segment}}, of_words))["words"] ==
        json{{{"word", "Ah"}, {"start", 0.5}, {"end", 1.0}, {"probability", 0.25}}});
}

TEST_CASE("damaged forms are read or refused", "[serving][fuzz]") {
  Mutator mutate(23);
  Tally tally;
  const std::vector<FormField> form = {sound_file,
                                       {.name = "language", .value = "de"},
                                       {.name = "temperature", .value = "0.25"},
                                       {.name = "response_format", .value = "vtt"},
                                       {.name = "timestamp_granularities[]", .value = "segment"}};
  for (int i = 0; i < tries(6000); ++i) {
    std::vector<FormField> damaged = form;
    FormField& field = damaged[static_cast<size_t>(i) % form.size()];
    (i % 2 ? field.name : field.value) = mutate.bytes(i % 2 ? field.name : field.value);
    attempt(tally, [&] { parse_speech_request(damaged, false); });
  }
  CHECK((tally.read > 100 && tally.refused > 100));
}
