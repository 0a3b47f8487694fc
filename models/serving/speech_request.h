#pragma once
// OpenAI's requests to write down speech. Nothing here knows HTTP or a device.

#include <span>
#include <string>
#include <string_view>

#include "models/serving/form_field.h"
#include "models/transcription/transcriber.h"

namespace vkformer {

enum class SpeechFormat : uint8_t { json, verbose_json, text, srt, vtt };

struct SpeechRequest {
  SpeechTask task;
  SpeechFormat format = SpeechFormat::json;
  std::string_view audio;  ///< the file's bytes, in the form
  std::string name;        ///< what errors call it: the client's name, fit for a line
};

/// Of the form of POST /v1/audio/transcriptions, or /v1/audio/translations (`translate`), which must outlive it. Throws
/// Error for what is no such request, for values outside of what can be meant, and for what would change the answer but
/// is not supported. Fields that say nothing here, as "model", are not looked at.
SpeechRequest parse_speech_request(std::span<const FormField> form, bool translate);

}  // namespace vkformer
