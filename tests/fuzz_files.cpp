// Damaged files: each input is read or refused with one clear line, and nothing else happens; run it in the asan build.

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/text/vocabulary.h"
#include "runtime/files/checkpoint.h"
#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

json safetensors_header() {
  return {{"__metadata__", {{"format", "pt"}}},
          {"w", {{"dtype", "F32"}, {"shape", {2, 3}}, {"data_offsets", {0, 24}}}},
          {"h", {{"dtype", "F16"}, {"shape", {4}}, {"data_offsets", {24, 32}}}},
          {"b", {{"dtype", "BF16"}, {"shape", {2, 1, 2}}, {"data_offsets", {32, 40}}}},
          {"e", {{"dtype", "I64"}, {"shape", {0, 7}}, {"data_offsets", {40, 40}}}},
          {"i", {{"dtype", "I64"}, {"shape", json::array()}, {"data_offsets", {40, 48}}}},
          {"j", {{"dtype", "I32"}, {"shape", {2}}, {"data_offsets", {48, 56}}}}};
}

void read_everything(const std::string& bytes) {
  // In memory of its own, so that reads past the end are seen.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const SafetensorsFile file(std::as_bytes(std::span(exact)), "fuzz.safetensors");
  for (const TensorEntry& tensor : file.tensors()) {
    REQUIRE(file.find(tensor.name) == &tensor);
    std::vector<float> floats(static_cast<size_t>(tensor.elements()));
    std::vector<int32_t> ints(floats.size());
    if (tensor.dtype == FileDType::i32 || tensor.dtype == FileDType::i64) {
      file.read_ints(tensor, ints);
    } else {
      file.read_floats(tensor, floats);
    }
  }
}

}  // namespace

TEST_CASE("damaged safetensors are read or refused", "[files][fuzz]") {
  Mutator mutate(1);
  Tally tally;
  const std::string data(56, '\x11');
  const std::string good = safetensors_bytes(safetensors_header().dump(), std::string(56, '\0'));
  attempt(tally, [&] { read_everything(good); });
  REQUIRE(tally.read == 1);
  for (int i = 0; i < 3000; ++i) attempt(tally, [&] { read_everything(mutate.bytes(good)); });
  for (int i = 0; i < 4000; ++i) {
    const std::string header = mutate.values(safetensors_header());
    const size_t length = i % 4 == 0 ? mutate.below(80) : data.size();
    attempt(tally, [&] { read_everything(safetensors_bytes(header, std::string(length, '\0'))); });
  }
  for (int i = 0; i < 1000; ++i) {  // the eight bytes of the header's length
    std::string file = good;
    for (size_t n = 1 + mutate.below(3); n > 0; --n) file[mutate.below(8)] = static_cast<char>(mutate.below(256));
    attempt(tally, [&] { read_everything(file); });
  }
  CHECK(tally.refused > 5000);
  CHECK(tally.read > 100);
}

TEST_CASE("damaged settings are read or refused", "[files][fuzz]") {
  Mutator mutate(2);
  Tally tally;
  const json good = {{"model_type", "gpt2"},       {"n_embd", 64},
                     {"layer_norm_epsilon", 1e-5}, {"use_cache", true},
                     {"n_inner", nullptr},         {"task", {{"text", {{"top_k", 50}, {"list", {1, 2, 3}}}}}}};
  for (int i = 0; i < 4000; ++i) {
    const std::string text = i % 2 ? mutate.values(good) : mutate.bytes(good.dump(1));
    attempt(tally, [&] {
      const JsonObject config = JsonObject::parse(text, "config.json");
      require_string(config, "model_type");
      require_integer(config, "n_embd", 1, 65536);
      require_number(config, "layer_norm_epsilon", 0, 1);
      boolean_or(config, "use_cache", true);
      integer_or(config, "n_inner", 256, 1, INT64_MAX);
      if (config.has("task")) integer_or(require_object(require_object(config, "task"), "text"), "top_k", 0, 0, 100);
    });
  }
  CHECK(tally.refused > 1000);
  CHECK(tally.read > 100);
}

TEST_CASE("damaged tokenizers are read or refused", "[files][fuzz]") {
  Mutator mutate(3);
  Tally tally;
  const std::string characters = Vocabulary::characters("abc \n\xC3\xA9\xF0\x9F\x99\x82").to_json();
  const std::string bytes = Vocabulary::bytes().to_json();
  for (int i = 0; i < 4000; ++i) {
    const std::string& good = i % 8 == 0 ? bytes : characters;
    const std::string text = i % 2 ? mutate.values(json::parse(good)) : mutate.bytes(good);
    attempt(tally, [&] {
      const Vocabulary vocabulary = Vocabulary::parse(text, "tokenizer.json");
      std::vector<int32_t> ids;
      StreamDecoder decoder(vocabulary);
      for (int32_t id = 0; id < vocabulary.size(); ++id) {
        ids.push_back(id);
        decoder.push(id);
      }
      decoder.finish();
      REQUIRE(vocabulary.encode(vocabulary.decode(ids)) == ids);
    });
  }
  CHECK(tally.refused > 1000);
  CHECK(tally.read > 100);
}

TEST_CASE("damaged run directories are read or refused", "[files][fuzz]") {
  Mutator mutate(4);
  Tally tally;
  const TemporaryFolder run;
  const auto folder = run / "checkpoint-000012";
  std::filesystem::create_directory(folder);
  const std::string weights = safetensors_bytes(safetensors_header().dump(), std::string(56, '\0'));
  put(folder / "model.safetensors", weights);
  for (int i = 0; i < 1500; ++i) {
    put(run / "latest", i % 2 ? mutate.bytes("checkpoint-000012\n") : "checkpoint-000012");
    put(folder / "model.safetensors", i % 4 == 0 ? mutate.bytes(weights) : weights);
    put(folder / "state.json", i % 3 == 0 ? mutate.bytes(R"({"step": 12})") : R"({"step": 12})");
    attempt(tally, [&] {
      const auto latest = latest_checkpoint(run.path());
      REQUIRE(latest.has_value());
      require_integer(JsonObject::load(*latest / "state.json"), "step", 0, INT64_MAX);
      const SafetensorsFile file(*latest / "model.safetensors");
      file.require("w");
    });
  }
  CHECK(tally.refused > 500);
  CHECK(tally.read > 100);
}
