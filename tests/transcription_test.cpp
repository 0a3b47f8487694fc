// What Whisper's tokens of times mean, and where they may stand.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>

#include "models/transcription/segments.h"
#include "models/transcription/timestamp_rule.h"
#include "models/transcription/transcript_text.h"
#include "runtime/check.h"

using namespace vkformer;
using Catch::Matchers::ContainsSubstring;

namespace {

/// 10 tokens of text, then special ones, then times of 0, 20, .. ms.
constexpr int32_t end_token = 10, start_token = 11, no_times = 14, first_time = 15;
constexpr size_t vocabulary = 40;

SpeechTokens some_tokens() {
  return {
      .start = start_token, .end = end_token, .no_timestamps = no_times, .first_time = first_time, .latest_start = 3};
}
int32_t at(int hundredths) { return first_time + hundredths / 2; }

/// The tokens that may follow, of scores that are all alike but for one.
std::vector<int32_t> allowed(const std::vector<int32_t>& written, int32_t likely = 4, double by = 9) {
  std::vector<double> scores(vocabulary, 0.0);
  scores[static_cast<size_t>(likely)] = by;
  TimestampRule(some_tokens()).restrict_scores(written, scores);
  std::vector<int32_t> ids;
  for (size_t i = 0; i < vocabulary; ++i)
    if (!std::isinf(scores[i])) ids.push_back(static_cast<int32_t>(i));
  return ids;
}

bool is_allowed(const std::vector<int32_t>& written, int32_t token, int32_t likely = 4) {
  const auto ids = allowed(written, likely);
  return std::ranges::count(ids, token) == 1;
}

}  // namespace

TEST_CASE("a window begins with a time that is not late", "[transcription]") {
  CHECK(allowed({}) == std::vector<int32_t>{at(0), at(2), at(4), at(6)});
}

TEST_CASE("times come in pairs, but for the last, and never go back", "[transcription]") {
  // Behind the first time there is text.
  CHECK(is_allowed({at(0)}, 4));
  CHECK_FALSE(is_allowed({at(0)}, at(4)));
  // Behind text there is more, the end, or a time that lies behind.
  CHECK(is_allowed({at(4), 4}, 5));
  CHECK(is_allowed({at(4), 4}, end_token));
  CHECK(is_allowed({at(4), 4}, at(6)));
  CHECK_FALSE(is_allowed({at(4), 4}, at(4)));
  CHECK_FALSE(is_allowed({at(4), 4}, at(2)));
  // A segment's end is followed by the next one's beginning, which may be the same, or by the end of all.
  CHECK_FALSE(is_allowed({at(4), 4, at(8)}, 5, end_token));
  CHECK(is_allowed({at(4), 4, at(8)}, at(8), end_token));
  CHECK_FALSE(is_allowed({at(4), 4, at(8)}, at(6), end_token));
  CHECK(is_allowed({at(4), 4, at(8)}, end_token, end_token));
  // Two times are followed by text.
  CHECK_FALSE(is_allowed({at(4), 4, at(8), at(8)}, at(10)));
  CHECK(is_allowed({at(4), 4, at(8), at(8)}, 5));
  for (const auto& written : {std::vector<int32_t>{at(0), 4}, std::vector<int32_t>{at(0)}})
    CHECK_FALSE(is_allowed(written, no_times));
}

TEST_CASE("a time comes where all of them together are likelier than any other token", "[transcription]") {
  // 22 times of e^0 above at(6) are likelier together than one token of e^3, and less likely than one of e^4.
  CHECK(is_allowed({at(4), 4}, 5, 5));
  CHECK(allowed({at(4), 4}, 5, 3).front() >= first_time);
  CHECK(allowed({at(4), 4}, 5, 4).front() == 0);
}

TEST_CASE("what was written is parted at its times", "[transcription]") {
  const SpeechTokens tokens = some_tokens();
  const auto parts = [&](const std::vector<int32_t>& ids, double seconds = 0.5) {
    return split_at_times(ids, seconds, tokens);
  };
  // Two segments and the beginning of a third, which belongs to the next window.
  WindowSegments found = parts({at(2), 1, 2, at(10), at(12), 3, at(20), at(20), 4, end_token});
  REQUIRE(found.segments.size() == 2);
  CHECK(found.segments[0].begin == 0.02);
  CHECK(found.segments[0].end == 0.1);
  CHECK(found.segments[0].ids == std::vector<int32_t>{1, 2});
  CHECK(found.segments[1].begin == 0.12);
  CHECK(found.segments[1].end == 0.2);
  CHECK(found.segments[1].ids == std::vector<int32_t>{3});
  CHECK(found.seconds == 0.2);
  // A single time at the end: nothing is left for the next window.
  found = parts({at(0), 1, at(10), at(10), 2, at(16), end_token});
  REQUIRE(found.segments.size() == 2);
  CHECK(found.segments[1].end == 0.16);
  CHECK(found.segments[1].ids == std::vector<int32_t>{2});
  CHECK(found.seconds == 0.5);
  // No pair, no time at all, nothing, and a time behind the window's end.
  found = parts({at(0), 1, 2, at(10), end_token});
  REQUIRE(found.segments.size() == 1);
  CHECK(found.segments[0].end == 0.1);
  CHECK(found.seconds == 0.5);
  found = parts({1, 2, end_token});
  REQUIRE(found.segments.size() == 1);
  CHECK(found.segments[0].ids == std::vector<int32_t>{1, 2});
  CHECK(found.segments[0].end == 0.5);
  CHECK(parts({}).seconds == 0.5);
  CHECK(parts({at(0), 1, at(40), end_token}, 0.25).segments[0].end == 0.25);
}

TEST_CASE("transcripts are text and subtitles", "[transcription]") {
  const SpeechSegment segment{.begin = 3723.4567, .end = 3725, .text = " Hello\nthere. "};
  CHECK(segment_text(segment, transcript_format("text"), 1) == "Hello there.\n");
  CHECK(segment_text(segment, transcript_format("srt"), 7) == "7\n01:02:03,457 --> 01:02:05,000\nHello there.\n\n");
  CHECK(segment_text(segment, transcript_format("vtt"), 7) == "01:02:03.457 --> 01:02:05.000\nHello there.\n\n");
  CHECK(transcript_heading(TranscriptFormat::vtt) == "WEBVTT\n\n");
  CHECK_THROWS_AS(transcript_format("ass"), Error);
  CHECK(!segment_json(segment).contains("words"));
  CHECK(segment_json({.timed = true}).value("words", nlohmann::json()) == nlohmann::json::array());
}
