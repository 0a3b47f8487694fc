#include "models/transcription/transcript_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// "00:01:02.500"
std::string clock(double seconds, char point) {
  const auto all = static_cast<int64_t>(std::llround(seconds * 1000));
  return fmt::format("{:02}:{:02}:{:02}{}{:03}", all / 3600000, all / 60000 % 60, all / 1000 % 60, point, all % 1000);
}

}  // namespace

TranscriptFormat transcript_format(std::string_view name) {
  if (name == "text") return TranscriptFormat::text;
  if (name == "srt") return TranscriptFormat::srt;
  check(name == "vtt", "there is no format {}; there are text, srt and vtt", in_quotes(name));
  return TranscriptFormat::vtt;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  const size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

std::string_view transcript_heading(TranscriptFormat format) {
  return format == TranscriptFormat::vtt ? "WEBVTT\n\n" : "";
}

std::string word_texts(const SpeechSegment& segment, TranscriptFormat format, int64_t number) {
  std::string texts;
  for (const SpokenWord& word : segment.words)
    texts += segment_text({.begin = word.begin, .end = word.end, .text = word.text}, format, number++);
  return texts;
}

std::string segment_text(const SpeechSegment& segment, TranscriptFormat format, int64_t number) {
  const std::string text = one_line(segment.text);
  if (format == TranscriptFormat::text) return text + '\n';
  const char point = format == TranscriptFormat::srt ? ',' : '.';
  const std::string heading = format == TranscriptFormat::srt ? fmt::format("{}\n", number) : "";
  return fmt::format("{}{} --> {}\n{}\n\n", heading, clock(segment.begin, point), clock(segment.end, point), text);
}

std::string whole_text(std::span<const SpeechSegment> segments) {
  std::string text;
  for (const SpeechSegment& segment : segments) text += segment.text;
  return one_line(std::move(text));
}

nlohmann::json word_json(const SpokenWord& word) {
  return {{"word", word.text},
          {"start", std::round(word.begin * 1000) / 1000},
          {"end", std::round(word.end * 1000) / 1000},
          {"probability", std::round(word.probability * 1e6) / 1e6}};
}

nlohmann::json segment_json(const SpeechSegment& segment) {
  nlohmann::json json{{"begin", std::round(segment.begin * 1000) / 1000},
                      {"end", std::round(segment.end * 1000) / 1000},
                      {"text", one_line(segment.text)}};
  if (!segment.language.empty()) json["language"] = segment.language;
  if (segment.timed) json["words"] = nlohmann::json::array();
  for (const SpokenWord& word : segment.words) json["words"].push_back(word_json(word));
  return json;
}

nlohmann::json transcript_json(std::span<const SpeechSegment> segments, const std::string& language) {
  auto list = nlohmann::json::array();
  for (const SpeechSegment& segment : segments) list.push_back(segment_json(segment));
  return {{"text", whole_text(segments)}, {"language", language}, {"segments", std::move(list)}};
}

}  // namespace vkformer
