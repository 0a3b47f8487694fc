#include "tools/cli/speech_setup.h"

#include "models/parameters.h"
#include "runtime/check.h"
#include "tools/cli/generation_memory.h"

namespace vkformer {

namespace {

Model model_that_hears(const std::filesystem::path& folder, const std::string& given, const std::string& dtype,
                       const AdapterFiles* adapter) {
  Model model = model_to_generate(folder, dtype, adapter);
  check(model.frame_columns > 0, "transcribe needs a model that reads sound, as Whisper's do; {} is a {} model", given,
        model.family);
  return model;
}

const Tokenizer& tokenizer_of(const PromptText& text, const std::string& given) {
  check(text.tokenizer() != nullptr, "{} has no tokenizer.json of Whisper's", given);
  return *text.tokenizer();
}

}  // namespace

SpeechSetup::SpeechSetup(const std::string& given, const std::string& dtype, const std::string& adapter_given)
    : folder(resolve_model_folder(given)),
      adapter(open_adapter(adapter_given, folder)),
      model(model_that_hears(folder, given, dtype, adapter.get())),
      text(folder),
      tokens(load_speech_tokens(folder, model, tokenizer_of(text, given))),
      mel(load_mel_settings(folder, usual_mel_settings(model))),
      files(model.parameters, folder) {}

std::shared_ptr<Store> SpeechSetup::load(Backend& backend, const TranscribeSettings& settings, bool quiet) const {
  Model placed = model;  // programs find tensors by name, wherever they lie
  check_fits(placed, folder, transcription_shape(model, mel, settings), backend);
  auto store = make_model_store(backend, placed);
  load_weights(files, model, adapter.get(), *store, quiet);
  return store;
}

}  // namespace vkformer
