#pragma once
// A model that writes down speech, with what its folder says of sound and tokens.

#include "models/audio/mel_settings.h"
#include "models/text/prompt_text.h"
#include "models/transcription/transcriber.h"
#include "tools/cli/model_folder.h"

namespace vkformer {

struct SpeechSetup {
  std::filesystem::path folder;
  std::unique_ptr<AdapterFiles> adapter;  ///< nullptr: none
  Model model;
  PromptText text;
  SpeechTokens tokens;
  MelSettings mel;
  Weights files;

  /// Of the model that was `given` on the command line; the weights are not read yet. Throws Error for a model that
  /// reads no sound, and for a folder without Whisper's tokenizer.
  SpeechSetup(const std::string& given, const std::string& dtype, const std::string& adapter_given);
  /// The weights, on the device. Throws Error where they and what the work takes do not fit there.
  std::shared_ptr<Store> load(Backend& backend, const TranscribeSettings& settings, bool quiet) const;
};

}  // namespace vkformer
