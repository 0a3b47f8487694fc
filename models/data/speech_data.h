#pragma once
// Recordings and what is said in them, as training data of Whisper: each is one window of the encoder.

#include <filesystem>

#include "models/audio/mel_settings.h"
#include "models/data/kept_floats.h"
#include "models/data/length_data.h"

namespace vkformer {

struct SpeechExamples {
  std::vector<std::filesystem::path> recordings;
  std::vector<std::vector<int32_t>> targets;  ///< all that the decoder writes, its end included
};

class SpeechData : public LengthData {
 public:
  struct Settings {
    LengthBatches::Settings batches;  ///< of targets
    int32_t padding = 0;              ///< the id behind the end
    int32_t decoder_start = 0;        ///< the decoder's first id
    int64_t source_positions = 0;     ///< of the encoder, for each recording
    MelSettings mel;
  };
  /// Throws Error when there is no training example. Recordings are read when a batch has them.
  SpeechData(SpeechExamples training, SpeechExamples validation, const Settings& settings);

 private:
  BatchShape shape_of(const LengthBatches::Bucket& bucket) const override;
  DataBatch assemble(const BatchShape& shape, Split split, std::span<const uint32_t> examples,
                     int64_t number) const override;
  std::vector<float> frames_of(const std::filesystem::path& recording) const;

  SpeechExamples training_, validation_;
  Settings settings_;
  KeptFloats kept_;
};

}  // namespace vkformer
