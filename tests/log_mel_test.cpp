// Whisper's features against those of transformers (tests/huggingface/make_log_mel.py), and their settings.

#include "models/audio/log_mel.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "models/audio/mel_filters.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// In [-1, 1), as the script makes it.
struct RecordedNoise {
  uint32_t state = 1;
  double operator()() {
    state = state * 1664525 + 1013904223;
    return state / 2147483648.0 - 1;
  }
};

template <class Tone>
std::vector<float> recorded_signal(size_t count, double noise, Tone tone) {
  RecordedNoise next;
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i)
    samples[i] = static_cast<float>(tone(static_cast<double>(i) / 16000) + noise * next());
  return samples;
}

std::vector<float> recorded_chirp() {
  return recorded_signal(32000, 0.01,
                         [](double t) { return 0.5 * std::sin(2 * std::numbers::pi * (100 * t + 1725 * t * t)); });
}

std::vector<float> recorded_window() {
  return recorded_signal(480000, 0.02,
                         [](double t) { return 0.3 * std::sin(2 * std::numbers::pi * 440 * t) * (t / 30); });
}

/// The largest difference of the recorded frames.
double difference_of_frames(const SafetensorsFile& file, const std::string& signal, const std::string& kind,
                            const std::vector<float>& features, int64_t mels) {
  const TensorEntry& frames = file.require(signal + ".frames");
  std::vector<int32_t> places(static_cast<size_t>(frames.shape.at(0)));
  file.read_ints(frames, places);
  std::vector<float> expected(places.size() * static_cast<size_t>(mels));
  file.read_floats(file.require(fmt::format("{}.{}.{}", signal, mels, kind)), expected);
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const size_t width = static_cast<size_t>(mels), frame = static_cast<size_t>(places[i / width]);
    largest = std::max(largest, std::abs(double{features.at(frame * width + i % width)} - double{expected[i]}));
  }
  return largest;
}

MelSettings settings_of(const json& extractor, const char* file = "preprocessor_config.json") {
  const TemporaryFolder folder;
  put(folder / file, extractor.dump());
  return load_mel_settings(folder.path());
}

std::string error_of_settings(json extractor, const char* key, const json& value) {
  extractor[key] = value;
  return error_of([&] { settings_of(extractor); });
}

/// What save_pretrained writes.
const json whisper_extractor = {{"chunk_length", 30},
                                {"dither", 0.0},
                                {"feature_extractor_type", "WhisperFeatureExtractor"},
                                {"feature_size", 128},
                                {"hop_length", 160},
                                {"n_fft", 400},
                                {"n_samples", 480000},
                                {"nb_max_frames", 3000},
                                {"padding_side", "right"},
                                {"padding_value", 0.0},
                                {"return_attention_mask", false},
                                {"sampling_rate", 16000}};

}  // namespace

TEST_CASE("features are those of transformers", "[audio]") {
  const SafetensorsFile file(std::filesystem::path(VKFORMER_FIXTURES) / "log_mel.safetensors");
  for (const auto& [signal, samples] : {std::pair("chirp", recorded_chirp()), std::pair("whole", recorded_window())}) {
    for (const int64_t mels : {80, 128}) {
      CAPTURE(signal, mels);
      const std::vector<float> features = log_mel(samples, {.mels = mels});
      CHECK(std::ssize(features) == 3000 * mels);
      CHECK(difference_of_frames(file, signal, "numpy", features, mels) < 1e-6);
      // transformers computes in float32 where PyTorch is.
      CHECK(difference_of_frames(file, signal, "torch", features, mels) < 5e-5);
    }
  }
}

TEST_CASE("silence has the least features", "[audio]") {
  // (log10(1e-10) + 4) / 4
  CHECK(log_mel({}, {}) == std::vector<float>(3000 * 80, -1.5f));
  CHECK(log_mel(std::vector<float>(480000), {.mels = 128}) == std::vector<float>(3000 * 128, -1.5f));
}

TEST_CASE("features are no more than 8 below the loudest", "[audio]") {
  const std::vector<float> features = log_mel(recorded_chirp(), {});
  CHECK(features.back() == *std::ranges::min_element(features));
  CHECK(std::abs(*std::ranges::max_element(features) - features.back() - 2) < 1e-6);
}

TEST_CASE("the highest frequency of a low rate is heard", "[audio]") {
  const MelSettings settings = {.mels = 40, .rate = 8000, .fft = 256, .hop = 128, .chunk_seconds = 1};
  std::vector<float> samples;
  for (int i = 0; i < 8000; ++i) samples.push_back(i % 2 == 0 ? 0.5f : -0.5f);
  const std::vector<float> features = log_mel(samples, settings);
  // Of an alternating signal under a Hann window two bins see something: sum w = 128, and half of it.
  std::vector<double> powers(129);
  powers[128] = 64 * 64;
  powers[127] = 32 * 32;
  const std::vector<MelFilter> filters = mel_filters(settings);
  size_t loud = 0;
  for (size_t m = 0; m < 40; ++m) {
    const double power = filters[m].apply(powers);
    if (power <= 1e-3) continue;
    CHECK(std::abs(features[10 * 40 + m] - (std::log10(power) + 4) / 4) < 1e-6);
    ++loud;
  }
  CHECK(loud > 0);
}

TEST_CASE("a window is not longer than its length", "[audio]") {
  const MelSettings settings = {.chunk_seconds = 1};
  CHECK(log_mel(std::vector<float>(16000), settings).size() == 100 * 80);
  CHECK_THAT(error_of([&] { log_mel(std::vector<float>(16001), settings); }),
             ContainsSubstring("16001 samples are more than the 16000 of a window of 1 s"));
  for (const MelSettings& none : {MelSettings{.mels = 0}, MelSettings{.fft = 401}, MelSettings{.hop = 0},
                                  MelSettings{.hop = 480001}, MelSettings{.fft = 960000}})
    CHECK_THAT(error_of([&] { log_mel({}, none); }), ContainsSubstring("make no features"));
}

TEST_CASE("mel filters have the area of one hertz, and corners that are evenly spaced in mels", "[audio]") {
  // Finer bins than Whisper's, of 1.95 Hz, so that sums are near the integrals.
  const std::vector<MelFilter> filters = mel_filters({.mels = 80, .fft = 8192});
  for (const MelFilter& filter : filters) {
    double area = 0;
    for (const double weight : filter.weights) area += weight * 16000 / 8192;
    CHECK(std::abs(area - 1) < 0.005);
  }
  // 8000 Hz are 45.2456 mel, and 81 distances: below 1000 Hz each is 37.24 Hz, the last two are 591 Hz.
  for (size_t m = 0; m < 25; ++m)
    CHECK(filters[m].first == static_cast<size_t>(37.2393 * static_cast<double>(m) * 8192 / 16000) + 1);
  CHECK(filters[79].first + filters[79].weights.size() == 4096);
  CHECK(filters[79].weights.size() == 302);
}

TEST_CASE("settings are those of the folder", "[audio]") {
  CHECK(settings_of(whisper_extractor) == MelSettings{.mels = 128});
  json other = whisper_extractor;
  other.update(
      {{"feature_size", 64}, {"sampling_rate", 8000}, {"n_fft", 256}, {"hop_length", 80}, {"chunk_length", 20}});
  const MelSettings expected = {.mels = 64, .rate = 8000, .fft = 256, .hop = 80, .chunk_seconds = 20};
  CHECK(settings_of(other) == expected);
  CHECK(expected.samples() == 160000);
  CHECK(expected.frames() == 2000);
  CHECK(settings_of({{"feature_extractor_type", "WhisperFeatureExtractor"}}) == MelSettings{});
  CHECK(settings_of({{"feature_extractor", other}, {"processor_class", "WhisperProcessor"}}, "processor_config.json") ==
        expected);
  CHECK(load_mel_settings("no such folder", {.mels = 3}).mels == 3);

  const TemporaryFolder both;
  put(both / "preprocessor_config.json", whisper_extractor.dump());
  put(both / "processor_config.json", json{{"processor_class", "WhisperProcessor"}}.dump());
  CHECK(load_mel_settings(both.path()).mels == 128);
  put(both / "processor_config.json", json{{"feature_extractor", other}}.dump());
  CHECK(load_mel_settings(both.path()).mels == 64);
}

TEST_CASE("settings of other extractors are refused", "[audio]") {
  CHECK_THAT(error_of_settings(whisper_extractor, "feature_extractor_type", "Wav2Vec2FeatureExtractor"),
             ContainsSubstring("preprocessor_config.json: feature_extractor_type is \"Wav2Vec2FeatureExtractor\""));
  CHECK_THAT(error_of_settings(whisper_extractor, "feature_extractor_type", nullptr),
             ContainsSubstring("feature_extractor_type"));
  CHECK_THAT(error_of_settings(whisper_extractor, "dither", 0.1), ContainsSubstring("dither"));
  CHECK_THAT(error_of_settings(whisper_extractor, "padding_value", 0.5), ContainsSubstring("padding_value"));
  CHECK_THAT(error_of_settings(whisper_extractor, "n_fft", 401), ContainsSubstring("n_fft is 401"));
  for (const char* key : {"feature_size", "sampling_rate", "n_fft", "hop_length", "chunk_length"}) {
    CHECK_THAT(error_of_settings(whisper_extractor, key, 0), ContainsSubstring(key));
    CHECK_THAT(error_of_settings(whisper_extractor, key, int64_t{1} << 40), ContainsSubstring(key));
    CHECK_THAT(error_of_settings(whisper_extractor, key, "many"), ContainsSubstring(key));
  }
}
