// Damaged GGUF files: each is read or refused with one clear line, and nothing else happens; run it in the asan build.

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_export.h"
#include "models/gguf/gguf_eyes.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "models/seeing/eyes_export.h"
#include "models/text/tokenizer.h"
#include "runtime/encoding/encoding.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Asks for every key in some ways; wrong ones are refused.
void read_metadata(const GgufMetadata& metadata, Mutator& choose) {
  static const std::function<void(const GgufMetadata&, std::string_view)> ways[] = {
      [](const GgufMetadata& data, std::string_view key) { data.integer(key, INT64_MIN, INT64_MAX); },
      [](const GgufMetadata& data, std::string_view key) { data.number(key, -1e300, 1e300); },
      [](const GgufMetadata& data, std::string_view key) { data.boolean(key); },
      [](const GgufMetadata& data, std::string_view key) { data.text(key); },
      [](const GgufMetadata& data, std::string_view key) { data.integers(key, INT64_MIN, INT64_MAX); },
      [](const GgufMetadata& data, std::string_view key) { data.numbers(key, -1e300, 1e300); },
      [](const GgufMetadata& data, std::string_view key) { data.texts(key); },
      [](const GgufMetadata& data, std::string_view key) { data.bytes(key); }};
  Tally tally;
  // All of them for each file would take longer than all else.
  for (const std::string_view key : metadata.keys())
    attempt(tally, [&] { ways[choose.below(std::size(ways))](metadata, key); });
}

void read_gguf_wholly(const std::string& bytes, Mutator& choose) {
  // In memory of its own, so that reads past the end are seen.
  const std::vector<char> exact(bytes.begin(), bytes.end());
  const GgufFile file(std::as_bytes(std::span(exact)), "fuzz.gguf");
  read_metadata(file.metadata(), choose);
  for (const GgufTensor& tensor : file.tensors()) {
    const auto dtype = dtype_of(*tensor.type);
    if (!dtype) continue;
    std::vector<float> values(tensor.bytes.size() / static_cast<size_t>(tensor.type->bytes) *
                              static_cast<size_t>(tensor.type->values));
    decode(*dtype, tensor.bytes, values);
  }
}

std::string small_file(const TemporaryFolder& folder) {
  GgufPairs pairs;
  pairs.add_text("general.architecture", "llama");
  pairs.add_integer("general.alignment", 32);
  pairs.add_number("llama.rope.freq_base", 10000);
  pairs.add_boolean("tokenizer.ggml.add_bos_token", true);
  pairs.add_texts("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"});
  pairs.add_integers("tokenizer.ggml.token_type", std::vector<int32_t>{1, 1, 1});
  pairs.add_bytes("tokenizer.ggml.precompiled_charsmap", "bytes");
  const std::vector<float> values(64, 0.5f);
  std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(DType::q8_0, 64)));
  encode(DType::q8_0, values, blocks);
  write_gguf(folder / "good.gguf", pairs,
             {{"a", gguf_tensor_type("F32"), {2, 32}, [&] { return std::as_bytes(std::span(values)); }},
              {"b", gguf_tensor_type("Q8_0"), {2, 32}, [&] { return std::span<const std::byte>(blocks); }}});
  return get(folder / "good.gguf");
}

/// The first tokens of a fixture's tokenizer, with the merges that make them.
nlohmann::json small_tokenizer(const char* kind, int64_t size) {
  nlohmann::json file = nlohmann::json::parse(get(fixtures / "tokenizers" / kind / "tokenizer.json"));
  nlohmann::json& model = file["model"];
  nlohmann::json vocabulary = model["vocab"].is_array() ? nlohmann::json::array() : nlohmann::json::object();
  for (const auto& [token, id] : model["vocab"].items())
    if (vocabulary.is_array() && std::ssize(vocabulary) < size)
      vocabulary.push_back(id);
    else if (vocabulary.is_object() && id < size)
      vocabulary[token] = id;
  model["vocab"] = vocabulary;
  nlohmann::json merges = nlohmann::json::array();
  for (const nlohmann::json& merge : model.value("merges", nlohmann::json::array()))
    if (vocabulary.contains(merge.at(0).get<std::string>() + merge.at(1).get<std::string>())) merges.push_back(merge);
  if (model.contains("merges")) model["merges"] = merges;
  return file;
}

/// The header of a file with that tokenizer and nothing else. `charsmap`: with its table of normal forms, which is
/// large.
std::string tokenizer_file(const TemporaryFolder& folder, const char* kind, bool charsmap) {
  nlohmann::json file = small_tokenizer(kind, 300);
  if (!charsmap && file["normalizer"].is_object())
    for (nlohmann::json& step : file["normalizer"].value("normalizers", nlohmann::json::array()))
      if (step.at("type") == "Precompiled") file["normalizer"] = nullptr;
  put(folder / "tokenizer.json", file.dump());
  GgufPairs pairs;
  add_tokenizer(pairs, folder.path(), nlohmann::json::object(), 300);
  write_gguf(folder / "tokenizer.gguf", pairs, {});
  return get(folder / "tokenizer.gguf");
}

/// A whole small model with its tokenizer.
std::string model_file(const TemporaryFolder& folder, const char* fixture, const char* tokenizer) {
  const auto source = folder / "model";
  std::filesystem::copy(fixtures / fixture, source);
  const nlohmann::json config = nlohmann::json::parse(get(source / "config.json"));
  put(source / "tokenizer.json", small_tokenizer(tokenizer, config.at("vocab_size").get<int64_t>()).dump());
  const Model model = load_model(source);
  write_model_as_gguf(folder / "model.gguf", model, Weights(model.parameters, source), source, Mixture("q8_0"));
  std::filesystem::remove_all(source);
  return get(folder / "model.gguf");
}

}  // namespace

TEST_CASE("damaged GGUF files are read or refused", "[gguf][fuzz]") {
  const TemporaryFolder folder;
  const std::string good = small_file(folder);
  Mutator mutate(11);
  Tally tally;
  attempt(tally, [&] { read_gguf_wholly(good, mutate); });
  REQUIRE(tally.read == 1);
  for (int i = 0; i < tries(6000); ++i) attempt(tally, [&] { read_gguf_wholly(mutate.bytes(good), mutate); });
  // Numbers of eight bytes, of which a header consists: large ones, and some near others.
  constexpr uint64_t numbers[] = {
      0, 1, 2, 31, 33, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 61, UINT64_MAX, INT64_MAX, UINT64_MAX - 31};
  for (int i = 0; i < tries(6000); ++i) {
    std::string file = good;
    const uint64_t number = numbers[mutate.below(std::size(numbers))];
    file.replace(mutate.below(std::min<size_t>(file.size(), 600) - 8), 8, reinterpret_cast<const char*>(&number), 8);
    attempt(tally, [&] { read_gguf_wholly(file, mutate); });
  }
  CHECK(tally.refused > 4000);
  CHECK(tally.read > 300);
}

namespace {

/// Reads files with some bytes of the header changed, behind which there are only weights.
void read_damaged(const TemporaryFolder& folder, const std::string& good, Tally& tally, int count,
                  const std::function<void(const std::filesystem::path&)>& read) {
  const auto path = folder / "fuzz.gguf";
  const GgufFile whole(std::as_bytes(std::span(good)), "good.gguf");
  const auto header =
      static_cast<size_t>(whole.tensors().front().bytes.data() - reinterpret_cast<const std::byte*>(good.data()));
  Mutator mutate(12);
  for (int i = 0; i < tries(count); ++i) {
    std::string file = good;
    for (size_t n = 1 + mutate.below(3); n > 0; --n) file[mutate.below(header)] = static_cast<char>(mutate.below(256));
    put(path, file);
    attempt(tally, [&] { read(path); });
  }
}

void read_all(const Model& model, const std::filesystem::path& path) {
  const Weights weights(model.parameters, path);
  for (const ParameterSpec& parameter : model.parameters) weights.read(parameter.name);
}

}  // namespace

TEST_CASE("damaged GGUF models are made or refused", "[gguf][fuzz]") {
  Tally tally;
  for (const auto& [fixture, tokenizer] : {std::pair{"llama", "llama"},
                                           {"gpt2", "gpt2"},
                                           {"qwen3_5", "gpt2"},
                                           {"deepseek_v2", "gpt2"},
                                           {"granite4", "gpt2"}}) {
    const TemporaryFolder folder;
    read_damaged(folder, model_file(folder, fixture, tokenizer), tally, 600,
                 [](const std::filesystem::path& path) { read_all(load_model(path), path); });
  }
  CHECK(tally.refused > 200);
  CHECK(tally.read > 200);
}

TEST_CASE("damaged GGUF files of eyes are made or refused", "[gguf][seeing][fuzz]") {
  Tally tally;
  for (const char* name : {"llava", "gemma3", "idefics3", "qwen2_5_vl", "qwen3_vl", "mistral3"}) {
    const TemporaryFolder folder;
    const std::filesystem::path source = fixtures.parent_path() / "seeing" / name;
    EyesExport(source).write(folder / "eyes.gguf", DType::f32);
    const Model text = load_model(source);
    write_model_as_gguf(folder / "text.gguf", text, Weights(text.parameters, source), source, Mixture("f32"));
    const nlohmann::json config = gguf_config(GgufShards(folder / "text.gguf"));
    read_damaged(folder, get(folder / "eyes.gguf"), tally, 300, [&](const std::filesystem::path& path) {
      const GgufShards shards(path);
      const auto made = [](nlohmann::json value) { return JsonObject::make(std::move(value), "fuzz.gguf"); };
      const Eyes eyes = make_eyes(made(gguf_eyes_config(shards, config, 3)));
      ImageProcessor::from_json(made(gguf_eyes_processor(shards)));
      read_all(eyes.model, path);
    });
  }
  CHECK(tally.refused > 200);
  CHECK(tally.read > 30);
}

TEST_CASE("damaged tokenizers in GGUF files are made or refused", "[gguf][fuzz]") {
  const TemporaryFolder folder;
  struct Kind {
    const char* name;
    bool charsmap;
    int usual;  ///< inputs
  };
  for (const auto& [name, charsmap, usual] :
       {Kind{"gpt2", false, 250}, {"llama", false, 250}, {"bert", false, 250}, {"t5", false, 250}, {"t5", true, 20}}) {
    INFO(name);
    const std::string good = tokenizer_file(folder, name, charsmap);
    Mutator mutate(13);
    Tally tally;
    const auto encode_with = [&](const std::string& file) {
      attempt(tally, [&] {
        const GgufFile damaged(std::as_bytes(std::span(file)), "fuzz.gguf");
        gguf_tokenizer_config(damaged.metadata());
        const Tokenizer tokens(JsonObject::make(gguf_tokenizer(damaged.metadata()), "fuzz.gguf"));
        tokens.decode(tokens.encode("<s>The cat's 12 mats, na\xC3\xAFve \xF0\x9F\x9A\x80</s>").ids);
      });
    };
    encode_with(good);
    REQUIRE(tally.read == 1);
    for (int i = 0; i < tries(usual); ++i) {
      std::string file = i % 4 == 0 ? mutate.bytes(good) : good;
      for (size_t n = i % 2 + mutate.below(2); n > 0 && !file.empty(); --n)
        file[mutate.below(file.size())] = static_cast<char>(mutate.below(256));
      encode_with(file);
    }
    CHECK(tally.refused >= usual / 4);
    CHECK(tally.read >= usual / 20);
  }
}
