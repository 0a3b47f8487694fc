#include "models/serving/speech_request.h"

#include "models/serving/request_slips.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer {

namespace {

/// What would change an answer but is not there, with the value that changes nothing: OpenAI's and whisper.cpp's.
constexpr std::pair<std::string_view, std::string_view> neutral_fields[] = {
    {"stream", "false"},          {"include[]", ""},       {"chunking_strategy", ""}, {"known_speaker_names[]", ""},
    {"no_timestamps", "false"},   {"offset_t", "0"},       {"duration", "0"},         {"max_len", "0"},
    {"word_timestamps", "false"}, {"vad_filter", "false"}, {"diarize", "false"},      {"hotwords", ""}};

/// A field that may be there once; nullptr where it is not.
const FormField* field_of(std::span<const FormField> form, std::string_view name) {
  const FormField* found = nullptr;
  for (const FormField& field : form) {
    if (field.name != name) continue;
    check(!found, "the form has {} more than once", in_quotes(name));
    found = &field;
  }
  return found;
}

std::string text_in(std::span<const FormField> form, std::string_view name) {
  const FormField* field = field_of(form, name);
  if (!field) return {};
  check(is_utf8(field->value), "{} is not UTF-8", in_quotes(name));
  return field->value;
}

double temperature_in(std::span<const FormField> form) {
  const std::string text = text_in(form, "temperature");
  if (text.empty()) return 0;
  const double value = number_in<double>(text).value_or(-1);
  check(value >= 0 && value <= 1, "\"temperature\" is {}; it must be a number from 0 to 1", in_quotes(text));
  return value;
}

SpeechFormat format_in(std::span<const FormField> form) {
  const std::string name = text_in(form, "response_format");
  if (name.empty() || name == "json") return SpeechFormat::json;
  if (name == "verbose_json") return SpeechFormat::verbose_json;
  if (name == "text") return SpeechFormat::text;
  if (name == "srt") return SpeechFormat::srt;
  check(name == "vtt", "\"response_format\" is {}; json, verbose_json, text, srt and vtt are supported",
        in_quotes(name));
  return SpeechFormat::vtt;
}

}  // namespace

SpeechRequest parse_speech_request(std::span<const FormField> form, bool translate) {
  bool words = false;
  FieldNames fields, known{"file",
                           "language",
                           "prompt",
                           "response_format",
                           "temperature",
                           "timestamp_granularities",
                           "timestamp_granularities[]"};
  for (const auto& [name, neutral] : neutral_fields) known.emplace(name);
  for (const FormField& field : form) {
    fields.emplace(field.name);
    for (const auto& [name, neutral] : neutral_fields)
      check(field.name != name || field.value == neutral, "{} must be {} or left out: nothing else is supported",
            in_quotes(name), in_quotes(neutral));
    const bool granularity = field.name == "timestamp_granularities[]" || field.name == "timestamp_granularities";
    check(!granularity || field.value == "segment" || field.value == "word",
          "{} is {}; there are times of segments (\"segment\") and words (\"word\")", in_quotes(field.name),
          in_quotes(field.value));
    words = words || (granularity && field.value == "word");
  }
  refuse_slips(fields, known);
  const FormField* file = field_of(form, "file");
  check(file != nullptr, "the form has no \"file\", the recording to be written down");
  std::string language = text_in(form, "language");
  const SpeechFormat format = format_in(form);
  check(!words || format == SpeechFormat::verbose_json,
        "times of words (\"timestamp_granularities[]\") need \"response_format\" verbose_json");
  if (language == "auto") language.clear();  // whisper.cpp's word for what is so anyway
  return {.task = {.language = std::move(language),
                   .translate = translate,
                   .words = words,
                   .before = text_in(form, "prompt"),
                   .temperature = temperature_in(form)},
          .format = format,
          .audio = file->value,
          .name = file->file.empty() ? "the file" : printable(file->file)};
}

}  // namespace vkformer
