#include "models/serving/speech_reply.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "models/serving/text_reply.h"
#include "models/transcription/transcript_text.h"

namespace vkformer {

namespace {

double in_milliseconds(double seconds) { return std::round(seconds * 1000) / 1000; }

nlohmann::json json_of(const SpeechSegment& segment, size_t number) {
  return {{"id", number},
          {"seek", std::llround(segment.window * 100)},  // in the reference's frames of 10 ms
          {"start", in_milliseconds(segment.begin)},
          {"end", in_milliseconds(segment.end)},
          {"text", segment.text},
          {"tokens", segment.ids},
          {"temperature", segment.temperature},
          {"avg_logprob", segment.log_probability},
          {"no_speech_prob", segment.silence}};
}

nlohmann::json verbose_json_of(const SpeechReply& reply, const SpeechTask& task) {
  nlohmann::json segments = nlohmann::json::array();
  for (const SpeechSegment& segment : reply.segments) segments.push_back(json_of(segment, segments.size()));
  nlohmann::json json{{"task", task.translate ? "translate" : "transcribe"},
                      {"language", reply.language},
                      {"duration", in_milliseconds(reply.seconds)},
                      {"text", whole_text(reply.segments)},
                      {"segments", std::move(segments)}};
  if (!task.words) return json;
  auto& words = json["words"] = nlohmann::json::array();
  for (const SpeechSegment& segment : reply.segments)
    for (const SpokenWord& word : segment.words) words.push_back(word_json(word));
  return json;
}

std::string subtitles_of(const SpeechReply& reply, TranscriptFormat format) {
  std::string text(transcript_heading(format));
  for (size_t i = 0; i < reply.segments.size(); ++i)
    text += segment_text(reply.segments[i], format, static_cast<int64_t>(i) + 1);
  return text;
}

}  // namespace

std::string body_of(const SpeechReply& reply, const SpeechRequest& request) {
  switch (request.format) {
    case SpeechFormat::json: return text_of(nlohmann::json{{"text", whole_text(reply.segments)}});
    case SpeechFormat::verbose_json: return text_of(verbose_json_of(reply, request.task));
    case SpeechFormat::text: return whole_text(reply.segments) + '\n';
    case SpeechFormat::srt: return subtitles_of(reply, TranscriptFormat::srt);
    case SpeechFormat::vtt: return subtitles_of(reply, TranscriptFormat::vtt);
  }
  return {};
}

const char* media_type(SpeechFormat format) {
  switch (format) {
    case SpeechFormat::json:
    case SpeechFormat::verbose_json: return "application/json";
    case SpeechFormat::text: return "text/plain; charset=utf-8";
    case SpeechFormat::srt: return "application/x-subrip; charset=utf-8";
    case SpeechFormat::vtt: return "text/vtt; charset=utf-8";
  }
  return "";
}

}  // namespace vkformer
