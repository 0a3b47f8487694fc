#pragma once
// How Whisper hears: what transformers' WhisperFeatureExtractor is told by a model's folder.

#include <cstdint>
#include <filesystem>

namespace vkformer {

/// Features are made of windows of audio of one length, shorter ones behind silence included.
struct MelSettings {
  int64_t mels = 80;           ///< filters: features a frame
  int64_t rate = 16000;        ///< of the samples, Hz
  int64_t fft = 400;           ///< samples under a frame's window; even
  int64_t hop = 160;           ///< samples from one frame to the next
  int64_t chunk_seconds = 30;  ///< length of a window

  int64_t samples() const { return chunk_seconds * rate; }  ///< in a window
  int64_t frames() const { return samples() / hop; }        ///< of a window
  bool operator==(const MelSettings&) const = default;
};

/// Those of a model's folder: of processor_config.json (transformers 5 writes them there, under "feature_extractor"),
/// else of preprocessor_config.json, else `otherwise`. Throws Error, naming file and key, for another extractor than
/// Whisper's, and for what this one does not do: dither, padding with anything but silence, an odd window.
MelSettings load_mel_settings(const std::filesystem::path& folder, const MelSettings& otherwise = {});

/// Writes them as preprocessor_config.json, as transformers reads it, into a folder.
void save_mel_settings(const MelSettings& settings, const std::filesystem::path& folder);

}  // namespace vkformer
