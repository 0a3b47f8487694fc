// Parameters from files: shards, other names, conversions, and what is refused.

#include "models/weights.h"
#include "models/parameters.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/files/json_file.h"
#include "runtime/files/weight_files.h"
#include "tests/file_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

namespace {

std::vector<float> ramp(int64_t count, float first) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// A folder with tensors a [2, 3] and b [4] in one shard and c [1] in another.
void write_shards(const TemporaryFolder& folder) {
  const auto a = ramp(6, 1), b = ramp(4, 10), c = ramp(1, 20);
  write_safetensors(folder / "model-00001-of-00002.safetensors",
                    {TensorSource::of("a", {2, 3}, a), TensorSource::of("b", {4}, b)});
  write_safetensors(folder / "model-00002-of-00002.safetensors", {TensorSource::of("c", {1}, c)});
}

void write_index(const TemporaryFolder& folder, const nlohmann::json& weight_map) {
  write_json(folder / "model.safetensors.index.json", {{"metadata", {{"total_size", 44}}}, {"weight_map", weight_map}});
}

const nlohmann::json good_map = {{"a", "model-00001-of-00002.safetensors"},
                                 {"b", "model-00001-of-00002.safetensors"},
                                 {"c", "model-00002-of-00002.safetensors"}};

std::shared_ptr<Store> store_for(Backend& backend, const std::vector<ParameterSpec>& parameters) {
  StoreLayout layout;
  add_parameter_blocks(layout, "parameters", parameter_blocks(parameters, uint64_t{1} << 30));
  return backend.make_store(layout);
}

}  // namespace

TEST_CASE("a model in shards reads like one in a single file", "[weights]") {
  const TemporaryFolder folder;
  write_shards(folder);
  write_index(folder, good_map);
  const std::vector<ParameterSpec> parameters = {{"c", {1}}, {"a", {2, 3}}, {"b", {4}}};
  const auto backend = make_reference_backend();
  const auto store = store_for(*backend, parameters);
  CHECK(load_parameters(*store, parameters, folder.path()).empty());
  CHECK(store->read("a") == ramp(6, 1));
  CHECK(store->read("b") == ramp(4, 10));
  CHECK(store->read("c") == ramp(1, 20));
  const WeightFiles files(folder.path());
  CHECK(files.files().size() == 2);
  CHECK(files.bytes() == std::filesystem::file_size(folder / "model-00001-of-00002.safetensors") +
                             std::filesystem::file_size(folder / "model-00002-of-00002.safetensors"));

  // As for transformers, a whole model counts before an index.
  const auto whole = ramp(6, 50);
  write_safetensors(folder / "model.safetensors", {TensorSource::of("a", {2, 3}, whole)});
  CHECK(WeightFiles(folder.path()).tensors().size() == 1);
}

TEST_CASE("indexes that can't be right are refused", "[weights]") {
  const TemporaryFolder folder;
  const auto error = [&] { return error_of([&] { const WeightFiles files(folder.path()); }); };
  CHECK_THAT(error(), EndsWith("has neither model.safetensors nor model.safetensors.index.json, nor a "
                               "pytorch_model.bin; check the path or download them"));
  write_shards(folder);
  const auto error_with = [&](const nlohmann::json& weight_map) {
    write_index(folder, weight_map);
    return error();
  };
  CHECK(error_with(good_map).empty());
  CHECK_THAT(error_with({{"a", "model-00003-of-00003.safetensors"}}),
             ContainsSubstring("names \"model-00003-of-00003.safetensors\", which is missing"));
  CHECK_THAT(error_with({{"d", "model-00002-of-00002.safetensors"}}),
             ContainsSubstring("says that tensor \"d\" is in \"model-00002-of-00002.safetensors\", but it is not"));
  for (const char* name : {"../model-00001-of-00002.safetensors", "/etc/passwd", "..", ".", "", "a/b", "a\\b"})
    CHECK_THAT(error_with({{"a", name}}), ContainsSubstring("the file of tensor \"a\" must be a name in this folder"));
  CHECK_THAT(error_with({{"a", 1}}), ContainsSubstring("must be a name in this folder, not 1"));
  CHECK_THAT(error_with(nlohmann::json::object()), ContainsSubstring("names no file"));
  CHECK_THAT(error_with(nlohmann::json::array()), ContainsSubstring("\"weight_map\" must be an object"));
  put(folder / "model.safetensors.index.json", "{}");
  CHECK_THAT(error(), ContainsSubstring("\"weight_map\" is missing"));

  const auto again = ramp(4, 0);
  write_safetensors(folder / "model-00002-of-00002.safetensors",
                    {TensorSource::of("c", {1}, std::span(again).first(1)), TensorSource::of("b", {4}, again)});
  const std::string twice = error_with(good_map);
  CHECK_THAT(twice, ContainsSubstring("tensor \"b\" is both in "));
  CHECK_THAT(twice, ContainsSubstring("model-00001-of-00002.safetensors and in "));
}

TEST_CASE("everything wrong with a folder is in one line, and nothing is written", "[weights]") {
  const TemporaryFolder folder;
  const auto values = ramp(6, 1);
  const std::vector<int64_t> longs = {1, 2};
  write_safetensors(folder / "model.safetensors",
                    {TensorSource::of("good", {6}, values), TensorSource::of("turned", {3, 2}, values),
                     TensorSource::of("deep", {1, 1, 1, 1, 1, 1, 6}, values), TensorSource::of("whole", {2}, longs)});
  const std::vector<ParameterSpec> parameters = {{"good", {6}}, {"gone", {2}},  {"turned", {2, 3}},
                                                 {"deep", {6}}, {"whole", {2}}, {"lost.weight", {1}}};
  const auto backend = make_reference_backend();
  const auto store = store_for(*backend, parameters);
  CHECK(error_of([&] { load_parameters(*store, parameters, folder.path()); }) ==
        (folder / "model.safetensors").generic_string() +
            ": lacks 2 tensors that the config asks for: gone, lost.weight; tensor \"turned\" has shape [3, 2], the "
            "config asks for [2, 3]; tensor \"deep\" has shape [1, 1, 1, 1, 1, 1, 6], the config asks for [6]; I64 is "
            "no type of weights that is "
            "supported (tensor \"whole\")");
  CHECK(store->read("good") == std::vector<float>(6));
}

TEST_CASE("a parameter has other names in some files, and the rest is extra", "[weights]") {
  const TemporaryFolder folder;
  const auto backend = make_reference_backend();
  const std::vector<ParameterSpec> parameters = {
      {.name = "shared.weight", .shape = {2}, .other_names = {"encoder.embed.weight", "decoder.embed.weight"}},
      {.name = "bert.LayerNorm.weight", .shape = {1}},
      {.name = "bert.LayerNorm.bias", .shape = {1}}};
  const auto shared = ramp(2, 1), copy = ramp(2, 5), gain = ramp(1, 7), bias = ramp(1, 8);
  const auto load = [&](std::vector<TensorSource> tensors) {
    const auto store = store_for(*backend, parameters);
    write_safetensors(folder / "model.safetensors", std::move(tensors));
    const auto extra = load_parameters(*store, parameters, folder.path());
    return std::tuple(store->read("shared.weight"), store->read("bert.LayerNorm.weight")[0],
                      store->read("bert.LayerNorm.bias")[0], extra);
  };
  const auto named = [](const char* name, const std::vector<float>& values) {
    return TensorSource::of(name, {static_cast<int64_t>(values.size())}, values);
  };
  CHECK(load({named("shared.weight", shared), named("encoder.embed.weight", shared),
              named("bert.LayerNorm.weight", gain), named("bert.LayerNorm.bias", bias)}) ==
        std::tuple(shared, 7.0f, 8.0f, std::vector<std::string>{"encoder.embed.weight"}));
  CHECK(load({named("decoder.embed.weight", copy), named("LayerNorm.weight", gain), named("LayerNorm.bias", bias)}) ==
        std::tuple(copy, 7.0f, 8.0f, std::vector<std::string>{}));
  CHECK(load({named("x", shared), named("shared.weight", shared), named("bert.LayerNorm.gamma", gain),
              named("LayerNorm.beta", bias)}) == std::tuple(shared, 7.0f, 8.0f, std::vector<std::string>{"x"}));
  // One tensor never stands for two parameters.
  const std::vector<ParameterSpec> two = {{"a.w", {2}}, {"b.w", {2}}};
  write_safetensors(folder / "model.safetensors", {named("w", shared)});
  CHECK_THAT(error_of([&] { Weights(two, folder.path()); }), EndsWith("lacks 1 tensor that the config asks for: b.w"));
}

TEST_CASE("parts of a stored tensor are written where they belong", "[weights][device]") {
  for (const char* device : {"reference", ""}) {
    const auto backend = make_backend(device);
    const std::vector<ParameterSpec> parameters = {{"before", {3}}, {"x", {5}}, {"after", {3}}};
    const auto store = store_for(*backend, parameters);
    store->write_part("x", 0, ramp(2, 1));
    store->write_part("x", 2, ramp(3, 3));
    CHECK(store->read("x") == ramp(5, 1));
    store->write_part("x", 4, ramp(1, 9));
    store->write_part("x", 5, {});
    CHECK(store->read("x") == std::vector<float>{1, 2, 3, 4, 9});
    CHECK(store->read("before") == std::vector<float>(3));
    CHECK(store->read("after") == std::vector<float>(3));
    CHECK_THAT(error_of([&] { store->write_part("x", 4, ramp(2, 0)); }), ContainsSubstring("2 floats don't fit"));
    CHECK_THAT(error_of([&] { store->write_part("x", -1, ramp(1, 0)); }), ContainsSubstring("don't fit"));
    CHECK_THAT(error_of([&] { store->write("x", std::vector<int32_t>(5)); }), ContainsSubstring("in the graph"));
    CHECK_THAT(error_of([&] { store->write_part("y", 0, ramp(1, 0)); }), ContainsSubstring("no tensor 'y'"));
  }
}

TEST_CASE("a tensor larger than a piece arrives whole", "[weights]") {
  const TemporaryFolder folder;
  const int64_t count = 2'500'007;
  const auto values = ramp(count, -7);
  std::vector<uint16_t> halves(values.size());  // bf16: the upper halves of the same floats
  std::vector<float> rounded(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    halves[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(values[i]) >> 16);
    rounded[i] = std::bit_cast<float>(uint32_t{halves[i]} << 16);
  }
  write_safetensors(folder / "model.safetensors",
                    {TensorSource::of("a", {count}, values),
                     {"b", FileDType::bf16, {count}, [&] { return std::as_bytes(std::span(halves)); }}});
  const std::vector<ParameterSpec> parameters = {{"b", {count}}, {"a", {count}}};
  const auto backend = make_reference_backend();
  const auto store = store_for(*backend, parameters);
  std::vector<uint64_t> steps;
  load_parameters(*store, parameters, folder.path(), [&](uint64_t done) { steps.push_back(done); });
  CHECK(store->read("a") == values);
  CHECK(store->read("b") == rounded);
  CHECK(steps.size() == 6);
  CHECK(std::is_sorted(steps.begin(), steps.end()));
  CHECK(steps.back() == static_cast<uint64_t>(count) * 6);
}
