#pragma once
// A transcript as text, and as the two formats of subtitles that players read.

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "models/transcription/segments.h"

namespace vkformer {

enum class TranscriptFormat : uint8_t {
  text,  ///< a line a segment
  srt,   ///< SubRip: numbered, "00:01:02,500 --> 00:01:04,000"
  vtt,   ///< WebVTT, with a heading and "00:01:02.500 --> 00:01:04.000"
};
/// By "text", "srt", "vtt". Throws Error for another name.
TranscriptFormat transcript_format(std::string_view name);

/// Without blanks around it and line ends in it, which would end a subtitle.
std::string one_line(std::string text);
/// What stands before the first segment.
std::string_view transcript_heading(TranscriptFormat format);
/// A segment, the `number`th from 1 on, with its line ends. Its text is one line.
std::string segment_text(const SpeechSegment& segment, TranscriptFormat format, int64_t number);
/// The same of each of its words, as whisper.cpp has them with -ml 1.
std::string word_texts(const SpeechSegment& segment, TranscriptFormat format, int64_t number);
/// All that was said, on one line, as the reference joins it: segments bring their blanks along.
std::string whole_text(std::span<const SpeechSegment> segments);

/// {"word", "start", "end", "probability"}, as openai-whisper and OpenAI's API call them.
nlohmann::json word_json(const SpokenWord& word);
/// {"begin", "end", "text"}, "language" where the model tells languages apart, and "words" where they were asked for.
nlohmann::json segment_json(const SpeechSegment& segment);
/// {"text", "language", "segments"} of a recording.
nlohmann::json transcript_json(std::span<const SpeechSegment> segments, const std::string& language);

}  // namespace vkformer
