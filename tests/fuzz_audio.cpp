// Damaged files of audio and settings of features: each is read or refused with one clear line; run it in the asan
// build.

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "models/audio/audio_file.h"
#include "models/audio/log_mel.h"
#include "tests/fuzz_helpers.h"
#include "tests/sound_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// In memory of its own, so that reads past the end are seen.
void listen(const std::string& bytes) {
  const std::vector<char> exact(bytes.begin(), bytes.end());
  for (const float sample : decode_audio(std::as_bytes(std::span(exact)), "fuzz", 8000))
    if (!(std::abs(sample) <= 1)) FAIL("a sample of " << sample);
}

}  // namespace

TEST_CASE("damaged files of audio are refused", "[fuzz][audio]") {
  Mutator mutator(20);
  Tally tally;
  // Not Ogg: some of what libvorbis begins libsndfile (1.2.0) never ends, a leak that sanitizers tell of.
  for (const int format : {wav, flac, float_wav, SF_FORMAT_AIFF | SF_FORMAT_PCM_24, SF_FORMAT_CAF | SF_FORMAT_ALAC_16,
                           SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM}) {
    const std::string good = sound_bytes(format, 8000, 2, sine(440, 0.5, 8000, 1000));
    for (int i = 0; i < tries(100); ++i) attempt(tally, [&] { listen(mutator.bytes(good)); });
  }
  CHECK(tally.read > 10);
  CHECK(tally.refused > 10);
}

TEST_CASE("damaged settings of features are refused", "[fuzz][audio]") {
  const json good = {{"feature_extractor",
                      {{"chunk_length", 1},
                       {"dither", 0.0},
                       {"feature_extractor_type", "WhisperFeatureExtractor"},
                       {"feature_size", 8},
                       {"hop_length", 160},
                       {"n_fft", 400},
                       {"sampling_rate", 16000}}}};
  Mutator mutator(21);
  Tally tally;
  const TemporaryFolder folder;
  for (int i = 0; i < tries(300); ++i) {
    put(folder / "processor_config.json", mutator.values(good));
    attempt(tally, [&] {
      MelSettings settings = load_mel_settings(folder.path());
      settings.chunk_seconds = 1;
      if (std::ssize(log_mel(std::vector<float>(100, 0.5f), settings)) != settings.frames() * settings.mels)
        FAIL("other features than asked for");
    });
  }
  CHECK(tally.read > 10);
  CHECK(tally.refused > 10);
}
