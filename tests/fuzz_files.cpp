// Damaged files: each input is read or refused with one clear line, and nothing else happens. The inputs are made from
// good files by a seeded generator, so that a failure repeats; run it in the asan build.

#include <catch2/catch_test_macros.hpp>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "models/text/vocabulary.h"
#include "runtime/files/checkpoint.h"
#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// Counts what became of the inputs, so that a test can tell that it tried both good and bad ones.
struct Tally {
  int read = 0;
  int refused = 0;
};

/// Anything but an Error leaves this function and fails the test.
template <class Action>
void attempt(Tally& tally, Action action) {
  try {
    action();
    ++tally.read;
  } catch (const Error& error) {
    const std::string_view message = error.what();
    REQUIRE(!message.empty());
    REQUIRE(message.find_first_of("\r\n") == message.npos);
    REQUIRE(message.size() < 1000);
    ++tally.refused;
  }
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

  /// Flips, overwrites, cuts, doubles or removes bytes.
  std::string bytes(std::string text) {
    for (size_t round = 1 + below(4); round > 0 && !text.empty(); --round) {
      const size_t at = below(text.size());
      const size_t length = 1 + below(std::min<size_t>(text.size() - at, 20));
      switch (below(6)) {
        case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
        case 1: text[at] = static_cast<char>(below(256)); break;
        case 2: text.resize(at); break;
        case 3: text.insert(below(text.size()), text.substr(at, length)); break;
        case 4: text.erase(at, length); break;
        default: text.insert(at, tokens_[below(std::size(tokens_))]); break;
      }
    }
    return text;
  }

  /// Replaces, removes or adds values anywhere in a document.
  std::string values(json document) {
    for (size_t round = 1 + below(3); round > 0; --round) change(document);
    std::string text = document.dump();
    if (below(8) == 0) repeat_a_key(text);
    return text;
  }

 private:
  void change(json& value) {
    if (!value.is_structured() || value.empty() || below(12) == 0) {
      value = json::parse(tokens_[below(valid_tokens)]);
      return;
    }
    const auto child = std::next(value.begin(), static_cast<json::difference_type>(below(value.size())));
    switch (below(10)) {
      case 0: value.erase(child); break;
      case 1:
        if (value.is_array())
          value.push_back(*child);
        else
          value[std::string(1 + below(3), 'k') + "\xC2\xA9"] = *child;
        break;
      case 2: *child = value[child_key(value)]; break;
      default: change(*child);
    }
  }

  static json::json_pointer child_key(const json& value) {
    return json::json_pointer() / (value.is_array() ? std::string("0") : value.begin().key());
  }

  /// {"a": 1} becomes {"a":0,"a":1}.
  void repeat_a_key(std::string& text) {
    const size_t open = text.find('{', below(text.size()));
    const size_t colon = open == text.npos ? open : text.find(':', open);
    if (colon != text.npos) text.insert(open + 1, text.substr(open + 1, colon - open - 1) + ":0,");
  }

  static constexpr size_t valid_tokens = 18;
  static constexpr const char* tokens_[] = {"null", "true", "-1", "0", "1", "2.5", "1e300", "\"\"", "\"x\"", "[]", "{}",
                                            "[[]]", "9223372036854775807", "9223372036854775808",
                                            "18446744073709551615", "4611686018427387905", "4294967296",
                                            "[4294967296,4294967296,4294967296]",
                                            // from here on not JSON by themselves
                                            "1e999", "\"\\ud800\"", "\\u0000", "{{{{{{",
                                            "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
                                            "\xFF", "\xC3", "\xED\xA0\x80", "}", "]", ",", ":", "\"", "\n", "-", "NaN"};
  std::mt19937_64 random_;
};

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
