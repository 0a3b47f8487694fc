#include "models/audio/mel_settings.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// Where the folder describes an extractor, if it does.
std::optional<JsonObject> extractor_of(const std::filesystem::path& folder) {
  const auto processor = folder / "processor_config.json", extractor = folder / "preprocessor_config.json";
  if (std::filesystem::exists(processor)) {
    const JsonObject json = JsonObject::load(processor);
    if (json.has("feature_extractor")) return require_object(json, "feature_extractor");
  }
  if (std::filesystem::exists(extractor)) return JsonObject::load(extractor);
  return std::nullopt;
}

}  // namespace

MelSettings load_mel_settings(const std::filesystem::path& folder, const MelSettings& otherwise) {
  const std::optional<JsonObject> json = extractor_of(folder);
  if (!json) return otherwise;
  const std::string type = require_string(*json, "feature_extractor_type");
  check(type == "WhisperFeatureExtractor",
        "{}: feature_extractor_type is {}; only WhisperFeatureExtractor is supported: give a Whisper's folder",
        json->name(), in_quotes(type));
  check(number_or(*json, "dither", 0, 0, 1e9) == 0,
        "{}: dither adds noise, which is not supported; set it to 0 for features of the audio alone", json->name());
  check(number_or(*json, "padding_value", 0, -1e9, 1e9) == 0,
        "{}: padding_value is not 0, but only padding with silence is supported; set it to 0", json->name());
  // An absent key is the extractor's default. Beyond these bounds a file is taken for damaged.
  const MelSettings usual;
  const MelSettings settings = {.mels = integer_or(*json, "feature_size", usual.mels, 1, 1024),
                                .rate = integer_or(*json, "sampling_rate", usual.rate, 8000, 192000),
                                .fft = integer_or(*json, "n_fft", usual.fft, 4, 4096),
                                .hop = integer_or(*json, "hop_length", usual.hop, 1, 4096),
                                .chunk_seconds = integer_or(*json, "chunk_length", usual.chunk_seconds, 1, 600)};
  check(settings.fft % 2 == 0, "{}: n_fft is {}, but only even numbers are supported: give a Whisper's folder",
        json->name(), settings.fft);
  return settings;
}

void save_mel_settings(const MelSettings& settings, const std::filesystem::path& folder) {
  const nlohmann::json json = {{"feature_extractor_type", "WhisperFeatureExtractor"},
                               {"processor_class", "WhisperProcessor"},
                               {"feature_size", settings.mels},
                               {"sampling_rate", settings.rate},
                               {"n_fft", settings.fft},
                               {"hop_length", settings.hop},
                               {"chunk_length", settings.chunk_seconds},
                               {"n_samples", settings.samples()},
                               {"nb_max_frames", settings.frames()},
                               {"padding_side", "right"},
                               {"padding_value", 0.0},
                               {"return_attention_mask", false}};
  write_file_atomically(folder / "preprocessor_config.json", json.dump(2) + '\n');
}

}  // namespace vkformer
