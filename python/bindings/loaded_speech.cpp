// What a loaded model hears.

#include <nlohmann/json.hpp>

#include "models/audio/audio_file.h"
#include "models/transcription/transcript_text.h"
#include "python/bindings/loaded_model.h"
#include "runtime/check.h"

namespace vkformer::python {

nlohmann::json LoadedModel::transcribe(const Recording& recording, const SpeechTask& task, int64_t beams) {
  const auto& folder = texts_->folder();
  check(model().frame_columns > 0, "transcribe() needs a model that reads sound, as Whisper's do; this is a {} model",
        model().family);
  check(!folder.empty(), "transcribe() needs a model with a folder, which says what sound is made of");
  check(beams >= 1 && beams <= 64, "beams must be from 1 to 64");
  const Running running(session());
  if (!ear_ || ear_->beams != beams) {
    ear_.reset();
    const MelSettings mel = load_mel_settings(folder, usual_mel_settings(model()));
    const Tokenizer* tokenizer = texts_->text().tokenizer();
    check(tokenizer != nullptr, "{} has no tokenizer.json of Whisper's", folder.generic_string());
    ear_.reset(new Ear{beams, mel,
                       Transcriber(*session().backend, model(), weights_.store, *tokenizer,
                                   load_speech_tokens(folder, model(), *tokenizer), mel, {.beams = beams})});
  }
  std::vector<float> read;
  std::span<const float> samples;
  if (const auto* file = std::get_if<std::filesystem::path>(&recording))
    samples = read = read_audio(*file, ear_->mel.rate);
  else
    samples = std::get<std::span<const float>>(recording);
  Interrupts interrupts;
  std::vector<SpeechSegment> segments;
  const std::string language = ear_->transcriber.transcribe(
      samples, task, [&](const SpeechSegment& segment) { segments.push_back(segment); },
      [&](double) { interrupts.check(); });
  return transcript_json(segments, language);
}

}  // namespace vkformer::python
