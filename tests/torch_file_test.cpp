// pytorch_model.bin: what torch.save writes is read as it is, and a pickle that is no state dict is refused by name.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/model_files.h"
#include "models/weights.h"
#include "runtime/files/pickled_state.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/torch_weights.h"
#include "runtime/half.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"
#include "tests/model_helpers.h"
#include "tests/torch_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

template <class Value>
std::string bytes_of(const std::vector<Value>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

TorchFile read(const std::string& bytes) { return {std::as_bytes(std::span(bytes)), "x.bin"}; }

std::string error(const std::string& bytes) {
  return error_of([&] { read(bytes); });
}

std::string error_of_pickle(const std::string& pickle) {
  return error_of([&] { read_state_dict(std::as_bytes(std::span(pickle)), "x.bin"); });
}

std::vector<float> floats_of(const WeightTensor& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  tensor.read_floats(0, values);
  return values;
}

const std::vector<float> six = {1, 2, 3, 4, 5, 6};

/// A folder's safetensors as PyTorch would have saved them.
std::string as_torch(const SafetensorsFile& file, ZipOptions options = {}) {
  std::vector<TorchSource> tensors;
  std::vector<std::pair<std::string, std::string>> storages;
  for (const TensorEntry& entry : file.tensors()) {
    const std::string key = std::to_string(storages.size());
    tensors.push_back(
        {.name = entry.name, .storage = key, .shape = entry.shape, .parameter = storages.size() % 2 == 0});
    storages.emplace_back(key, std::string(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size()));
  }
  return torch_bytes(tensors, storages, options);
}

}  // namespace

TEST_CASE("a state dict of PyTorch is read", "[files]") {
  const TemporaryFolder folder;
  const std::vector<uint16_t> halves{to_half(DType::f16, 0.5f), to_half(DType::f16, -3)},
      brains{to_half(DType::bf16, 1.5f), to_half(DType::bf16, 7)};
  const std::vector<TorchSource> tensors = {
      {.name = "rows", .storage = "0", .shape = {2, 3}},
      {.name = "tied", .storage = "0", .shape = {2, 3}, .parameter = true},
      {.name = "columns", .storage = "0", .shape = {3, 2}, .strides = {1, 3}},
      {.name = "part", .storage = "0", .shape = {2}, .first = 3, .elements = 6},
      {.name = "row", .storage = "0", .shape = {1, 6}, .strides = {77, 1}},
      {.name = "same", .storage = "0", .shape = {2, 2}, .strides = {0, 1}, .first = 4, .elements = 6},
      {.name = "scalar", .storage = "0", .shape = {}, .elements = 6},
      {.name = "nothing", .storage = "0", .shape = {0, 4}, .elements = 6},
      {.name = "half", .storage = "1", .shape = {2}, .type = "HalfStorage"},
      {.name = "brain", .storage = "2", .shape = {2}, .type = "BFloat16Storage"},
      {.name = "ids", .storage = "3", .shape = {2}, .type = "LongStorage"},
      {.name = "four", .storage = "0", .shape = {1, 2, 1, 3}}};
  for (const bool zip64 : {false, true}) {
    put(folder / "pytorch_model.bin",
        torch_bytes(
            tensors,
            {{"0", bytes_of(six)}, {"1", bytes_of(halves)}, {"2", bytes_of(brains)}, {"3", bytes_of<int64_t>({-1, 9})}},
            {.zip64 = zip64}));
    const auto weights = open_weights(folder.path());
    const auto floats = [&](const char* name) { return floats_of(*weights->find(name)); };
    CHECK(weights->tensors().size() == tensors.size());
    CHECK(weights->name().ends_with("pytorch_model.bin"));
    CHECK(floats("rows") == six);
    CHECK(floats("tied") == six);
    CHECK(floats("columns") == std::vector<float>{1, 4, 2, 5, 3, 6});
    CHECK(floats("part") == std::vector<float>{4, 5});
    CHECK(floats("row") == six);
    CHECK(floats("same") == std::vector<float>{5, 6, 5, 6});
    CHECK(floats("scalar") == std::vector<float>{1});
    CHECK(floats("nothing").empty());
    CHECK(floats("half") == std::vector<float>{0.5f, -3});
    CHECK(floats("brain") == std::vector<float>{1.5f, 7});
    CHECK(floats("four") == six);
    CHECK(weights->find("half")->stored(false) == DType::f16);
    CHECK(!weights->find("ids")->is_float());
    CHECK(weights->find("ids")->type() == "I64");
    CHECK_THAT(error_of([&] { floats("ids"); }), ContainsSubstring("tensor \"ids\" is I64"));
    // A part of a tensor that lies across.
    std::vector<float> two(2);
    weights->find("columns")->read_floats(3, two);
    CHECK(two == std::vector<float>{5, 3});
    weights->find("rows")->release(0, 6);
    CHECK(floats("rows") == six);
  }
}

TEST_CASE("models load from PyTorch's files as from safetensors", "[files]") {
  for (const char* kind : {"gpt2", "bert_cls", "t5"}) {
    const TemporaryFolder folder;
    std::filesystem::copy_file(fixtures / kind / "config.json", folder / "config.json");
    const SafetensorsFile file(fixtures / kind / "model.safetensors");
    put(folder / "pytorch_model.bin", as_torch(file));
    const Model model = load_model(folder.path());
    const Weights ours(model.parameters, folder.path()), theirs(model.parameters, fixtures / kind);
    for (const ParameterSpec& parameter : model.parameters)
      CHECK(ours.read(parameter.name) == theirs.read(parameter.name));
  }
}

TEST_CASE("files from before PyTorch 1.6 are read", "[files]") {
  const std::vector<TorchSource> tensors = {{.name = "w", .storage = "94", .shape = {2, 3}},
                                            {.name = "turned", .storage = "94", .shape = {3, 2}, .strides = {1, 3}},
                                            {.name = "b", .storage = "7", .shape = {2}, .parameter = true}};
  const std::vector<std::pair<std::string, std::string>> storages = {{"94", bytes_of(six)},
                                                                     {"7", bytes_of<float>({8, 9})}};
  const std::string good = older_torch_bytes(tensors, storages);
  const TorchFile file = read(good);
  const auto floats = [&](size_t tensor) {
    std::vector<float> values(static_cast<size_t>(file.tensors()[tensor].elements()));
    file.read(file.tensors()[tensor], 0, std::as_writable_bytes(std::span(values)));
    return values;
  };
  CHECK(floats(0) == six);
  CHECK(floats(1) == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(floats(2) == std::vector<float>{8, 9});
  CHECK_THAT(error(good.substr(0, good.size() - 1)),
             ContainsSubstring("its storage \"7\" has 2 elements, 7 bytes are left"));
  CHECK_THAT(error(good.substr(0, good.size() - 10)), ContainsSubstring("it ends before storage \"7\""));
  CHECK_THAT(error(older_torch_bytes(tensors, {{"94", bytes_of(six)}})),
             ContainsSubstring("its storage \"7\" is not in the file"));
  CHECK_THAT(error(older_torch_bytes(tensors, {{"94", bytes_of(six)}, {"x", ""}})),
             ContainsSubstring("no tensor lies in its storage \"x\""));
  std::string big = good;
  big[big.find("\x88")] = '\x89';
  CHECK_THAT(error(big), ContainsSubstring("its numbers are big-endian"));
}

TEST_CASE("PyTorch's shards are found by their index", "[files]") {
  const TemporaryFolder folder;
  const auto shard = [&](const char* file, const char* tensor) {
    put(folder / file, torch_bytes({{.name = tensor, .storage = "0", .shape = {6}}}, {{"0", bytes_of(six)}}));
  };
  const auto problem = [&] { return error_of([&] { TorchWeights weights(folder.path()); }); };
  shard("a.bin", "x");
  shard("b.bin", "y");
  put(folder / "pytorch_model.bin.index.json", R"({"weight_map": {"x": "a.bin", "y": "b.bin"}})");
  CHECK(TorchWeights(folder.path()).tensors().size() == 2);
  CHECK(open_weights(folder.path())->file_count() == 2);
  put(folder / "pytorch_model.bin.index.json", R"({"weight_map": {"x": "b.bin", "y": "a.bin"}})");
  CHECK_THAT(problem(), ContainsSubstring("says that tensor \"x\" is in \"b.bin\", but it is not"));
  put(folder / "pytorch_model.bin.index.json", R"({"weight_map": {"x": "../a.bin"}})");
  CHECK_THAT(problem(), ContainsSubstring("must be a name in this folder"));
  shard("b.bin", "x");
  put(folder / "pytorch_model.bin.index.json", R"({"weight_map": {"x": "a.bin", "y": "b.bin"}})");
  CHECK_THAT(problem(), ContainsSubstring("tensor \"x\" is both in"));
  // safetensors count first.
  write_safetensors(folder / "model.safetensors", {TensorSource::of("z", {6}, six)});
  CHECK(open_weights(folder.path())->find("z") != nullptr);
}

TEST_CASE("a pickle that is no state dict is refused by name, and nothing is run", "[files]") {
  CHECK_THAT(
      error_of_pickle("\x80\x02" + pickled_global("os", "system") + pickled_text("true") + "\x85R."),
      ContainsSubstring(
          "x.bin, byte 2 of its pickle: it names os.system; only a model's state dict is read, and nothing was run"));
  CHECK_THAT(error_of_pickle("\x80\x04" + std::string("\x8c\x08") + "builtins" + "\x8c\x04" + "eval" + "\x93."),
             ContainsSubstring("it names builtins.eval"));
  CHECK_THAT(error_of_pickle("\x80\x02i"), ContainsSubstring("the instruction 0x69"));
  CHECK_THAT(error_of_pickle("\x80\x01."), ContainsSubstring("its protocol is 1"));
  CHECK_THAT(error_of_pickle("\x80\x02"), ContainsSubstring("it ends too early"));
  CHECK_THAT(error_of_pickle("\x80\x02X\xFF\xFF\xFF\xFF"), ContainsSubstring("it ends too early"));
  CHECK_THAT(error_of_pickle("\x80\x02s."), ContainsSubstring("an instruction lacks its value"));
  CHECK_THAT(error_of_pickle("\x80\x02t."), ContainsSubstring("an instruction lacks its mark"));
  CHECK_THAT(error_of_pickle("\x80\x02N(\x85."), ContainsSubstring("an instruction lacks its value"));
  CHECK_THAT(error_of_pickle("\x80\x02h\x05."), ContainsSubstring("it wants a value that it never had"));
  CHECK_THAT(error_of_pickle("\x80\x02]."), ContainsSubstring("it holds no dictionary of tensors"));
  CHECK_THAT(error_of_pickle("\x80\x02}(Nu."), ContainsSubstring("a key without its value"));
  CHECK_THAT(error_of_pickle("\x80\x02NN\x86)R."), ContainsSubstring("it calls what is no function"));
  CHECK_THAT(error_of_pickle("\x80\x02" + pickled_global("torch", "FloatStorage") + ")R."),
             ContainsSubstring("it calls torch.FloatStorage"));
  CHECK_THAT(error_of_pickle("\x80\x02NQ."), ContainsSubstring("outside that is no storage"));
  CHECK_THAT(error_of_pickle("\x80\x02}" + pickled_text("state_dict") + "}s."),
             ContainsSubstring("it holds dictionaries, as \"state_dict\"; a training's checkpoint is no model"));
  // A list that is its own item, and a value wanted again and again, take no time.
  CHECK_THAT(error_of_pickle("\x80\x02]q\x01h\x01"
                             "a."),
             ContainsSubstring("it holds no dictionary"));
  std::string many = "\x80\x02(";
  for (int i = 0; i < 3'000'000; ++i) many += 'N';
  CHECK_THAT(error_of_pickle(many), ContainsSubstring("values; only a model's"));
  // Entries that are no tensors are left out.
  const std::string more =
      "\x80\x02}(" + pickled_text("epoch") + "K\x05" + pickled_text("loss") + "G" + std::string(8, '\0') + "u.";
  CHECK(read_state_dict(std::as_bytes(std::span(more)), "x.bin").empty());
}

TEST_CASE("a damaged file of PyTorch is refused", "[files]") {
  const std::vector<TorchSource> one = {{.name = "w", .storage = "0", .shape = {6}}};
  const std::vector<std::pair<std::string, std::string>> storage = {{"0", bytes_of(six)}};
  const std::string good = torch_bytes(one, storage);
  CHECK(error(good).empty());
  CHECK_THAT(error("\x80\x02\x8a\x0alF"), ContainsSubstring("it is no file of torch.save"));
  CHECK_THAT(error(good.substr(0, good.size() - 30)), ContainsSubstring("it is cut short, download it again"));
  CHECK_THAT(error(torch_bytes(one, storage, {.method = 8})),
             ContainsSubstring("is compressed, as PyTorch never does it"));
  CHECK_THAT(error(torch_bytes(one, storage, {.flags = 1})), ContainsSubstring("is encrypted"));
  CHECK_THAT(error(torch_bytes(one, {})), ContainsSubstring("tensor \"w\": its storage \"0\" is not in the file"));
  CHECK_THAT(error(torch_bytes(one, {{"0", "1234"}})),
             ContainsSubstring("should have 6 elements of F32, and has room for 1"));
  CHECK_THAT(error(torch_bytes({one[0], one[0]}, storage)), ContainsSubstring("it has tensor \"w\" twice"));
  CHECK_THAT(error(torch_bytes({}, storage)), ContainsSubstring("it holds no tensors"));
  CHECK_THAT(error(zip_bytes({{"a", "b"}})), ContainsSubstring("the archive has no data.pkl"));
  CHECK_THAT(error(zip_bytes({{"a", "b"}, {"a", "b"}})), ContainsSubstring("it has \"a\" twice"));
  CHECK_THAT(error(zip_bytes({{"a/data.pkl", state_dict_pickle({})}, {"a/byteorder", "big"}})),
             ContainsSubstring("its numbers are big-endian"));
  const auto misplaced = [&](TorchSource tensor) { return error(torch_bytes({std::move(tensor)}, storage)); };
  const char* outside = "it does not lie in its storage of 6 elements";
  CHECK_THAT(misplaced({.name = "w", .storage = "0", .shape = {6}, .first = 1, .elements = 6}),
             ContainsSubstring(outside));
  CHECK_THAT(misplaced({.name = "w", .storage = "0", .shape = {3}, .strides = {3}, .elements = 6}),
             ContainsSubstring(outside));
  CHECK_THAT(misplaced({.name = "w", .storage = "0", .shape = {3}, .strides = {INT64_MAX}, .elements = 6}),
             ContainsSubstring(outside));
  CHECK_THAT(misplaced({.name = "w", .storage = "0", .shape = {INT64_MAX, 2}, .strides = {0, 0}, .elements = 6}),
             ContainsSubstring(outside));
  CHECK_THAT(misplaced({.name = "w", .storage = "0", .shape = {3}, .strides = {-1}, .elements = 6}),
             ContainsSubstring("a shape or stride is no whole number"));
  CHECK_THAT(misplaced({.name = "w", .storage = "0", .shape = std::vector<int64_t>(65, 1), .elements = 6}),
             ContainsSubstring("a tensor of 65 dimensions"));
}

TEST_CASE("damaged files of PyTorch are read or refused", "[files][fuzz]") {
  Mutator mutate(7);
  Tally tally;
  const std::vector<TorchSource> tensors = {
      {.name = "w", .storage = "0", .shape = {2, 3}},
      {.name = "t", .storage = "0", .shape = {3, 2}, .strides = {1, 3}, .parameter = true},
      {.name = "h", .storage = "1", .shape = {4}, .type = "HalfStorage"}};
  const std::vector<std::pair<std::string, std::string>> storages = {{"0", bytes_of(six)}, {"1", "12345678"}};
  const auto read_all = [&](const std::string& bytes) {
    // In memory of its own, so that reads past the end are seen.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const TorchFile file(std::as_bytes(std::span(exact)), "fuzz.bin");
    for (const TorchTensor& tensor : file.tensors()) {
      std::vector<std::byte> values(
          static_cast<size_t>(std::min<int64_t>(tensor.elements(), 100) * size_of(tensor.dtype)));
      file.read(tensor, 0, values);
    }
  };
  attempt(tally, [&] { read_all(torch_bytes(tensors, storages)); });
  REQUIRE(tally.read == 1);
  for (int i = 0; i < tries(2000); ++i)
    attempt(tally, [&] { read_all(mutate.bytes(torch_bytes(tensors, storages, {.zip64 = i % 2 == 0}))); });
  const std::string older = older_torch_bytes({tensors[0], tensors[1]}, {storages[0]});
  for (int i = 0; i < tries(2000); ++i) attempt(tally, [&] { read_all(mutate.bytes(older)); });
  const std::string pickle = state_dict_pickle(tensors);
  for (int i = 0; i < tries(6000); ++i)
    attempt(tally, [&] {
      read_all(zip_bytes(
          {{"a/data.pkl", mutate.bytes(pickle)}, {"a/data/0", storages[0].second}, {"a/data/1", storages[1].second}}));
    });
  CHECK(tally.refused > 2000);
  CHECK(tally.read > 50);
}
