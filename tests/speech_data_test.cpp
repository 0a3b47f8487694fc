// Files of recordings and what is said in them, and batches of these.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/audio/audio_file.h"
#include "models/audio/log_mel.h"
#include "models/data/speech_data.h"
#include "models/data/speech_rows.h"
#include "tests/file_helpers.h"
#include "tests/sound_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("rows name recordings and texts, or the file and line that do not", "[speech]") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sounds");
  write_sound(folder / "sounds/a.wav", 0.2);
  const std::string name = (folder / "rows.tsv").generic_string(), objects = (folder / "rows.jsonl").generic_string();
  SpeechRows rows = read_speech_rows("sounds/a.wav\tone\tmore\n", name);
  CHECK(rows.recordings.at(0) == folder / "sounds/a.wav");
  CHECK(rows.texts.at(0) == "one");
  rows = read_speech_rows(R"({"path": "sounds/a.wav", "sentence": "zwei", "language": "de"})", objects);
  CHECK(rows.texts.at(0) == "zwei");
  CHECK(rows.languages.at(0) == "de");
  const auto says = [&](const std::string& content, const std::string& file) {
    return error_of([&] { read_speech_rows(content, file); });
  };
  CHECK_THAT(says("sounds/a.wav one\n", name), ContainsSubstring("rows.tsv:1: no tab"));
  CHECK_THAT(says("sounds/b.wav\tone\n", name), ContainsSubstring("rows.tsv:1: there is no audio file"));
  CHECK_THAT(says(R"({"text": "one"})", objects), ContainsSubstring("audio"));
  CHECK_THAT(says("x\n", (folder / "rows.csv").generic_string()), ContainsSubstring(".tsv or .jsonl"));
}

TEST_CASE("batches of recordings have their frames and what the decoder reads and writes", "[speech]") {
  const TemporaryFolder folder;
  SpeechExamples examples;
  const MelSettings mel{.mels = 8, .chunk_seconds = 1};
  for (int i = 0; i < 3; ++i) {
    examples.recordings.push_back(folder / fmt::format("{}.wav", i));
    write_sound(examples.recordings.back(), 0.2 + 0.1 * i);
    examples.targets.push_back(std::vector<int32_t>(static_cast<size_t>(2 + i), 7 + i));
  }
  const SpeechData data(examples, examples,
                        {.batches = {.positions = 64, .most_rows = 4, .most_shapes = 1},
                         .padding = 1,
                         .decoder_start = 2,
                         .source_positions = 50,
                         .mel = mel});
  REQUIRE(data.shapes() == std::vector<BatchShape>{{.rows = 3, .positions = 4, .source_positions = 50}});
  const DataBatch batch = data.validation_batch(0, data.validation_batches());
  CHECK(batch.values("ids") == std::vector<int32_t>{2, 7, 1, 1, 2, 8, 8, 1, 2, 9, 9, 9});
  CHECK(batch.values("targets") == std::vector<int32_t>{7, 7, -100, -100, 8, 8, 8, -100, 9, 9, 9, 9});
  REQUIRE(batch.floats.at(0).second.size() == 3 * 100 * 8);
  const auto second = log_mel(read_audio(examples.recordings[1], 16000), mel);
  CHECK(std::equal(second.begin(), second.end(), batch.floats.at(0).second.begin() + 800));
  CHECK(batch.tokens == 9);
  write_sound(examples.recordings[0], 1.5);
  const SpeechData longer(examples, {}, {.batches = {.positions = 64}, .source_positions = 50, .mel = mel});
  CHECK_THAT(error_of([&] {
               for (int64_t i = 0; i < longer.epoch(); ++i) longer.training_batch(i);
             }),
             ContainsSubstring("longer than the model's windows of 1 s"));
}
