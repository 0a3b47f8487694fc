// Weights of folders that are quantised, against what the methods' own libraries make of them
// (tests/huggingface/make_quantised.py).

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/families/registry.h"
#include "models/model_files.h"
#include "models/stored_weights.h"
#include "models/weights.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/safetensors.h"
#include "runtime/half.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

const std::filesystem::path recorded_cases = fixtures.parent_path() / "quantised";
constexpr std::string_view expected_prefix = "expected.";

std::string config_key(std::string_view name) {
  return name.starts_with("mlx") ? "quantization" : "quantization_config";
}

/// A folder with the case's tensors, but what is expected of them, as a model has them.
void write_case(const SafetensorsFile& recorded, const std::string& key, const json& how, const TemporaryFolder& folder,
                const std::function<void(std::vector<TensorSource>&)>& change = {}) {
  std::vector<TensorSource> tensors;
  for (const TensorEntry& entry : recorded.tensors())
    if (!entry.name.starts_with(expected_prefix))
      tensors.push_back({entry.name, entry.dtype, entry.shape, [&entry] { return entry.bytes; }});
  if (change) change(tensors);
  write_safetensors(folder / "model.safetensors", std::move(tensors));
  std::ofstream(folder / "config.json") << json{{key, how}};
}

SafetensorsFile recorded_case(const std::string& name) {
  return SafetensorsFile(recorded_cases / (name + ".safetensors"));
}
json how_of(const SafetensorsFile& recorded) { return json::parse(recorded.metadata().at("quantization_config")); }

}  // namespace

TEST_CASE("quantised weights are what their own libraries make of them", "[weights]") {
  // The types that stores have in place of the files' codes; all other cases are stored as f16.
  const std::map<std::string, DType> stored_types = {
      {"gptq_4", DType::q4_0},    {"gptq_4_zeros", DType::q4_0},   {"gptq_4_v2", DType::q4_1},
      {"gptq_3", DType::q4_1},    {"gptq_2", DType::q4_1},         {"gptq_8", DType::q8_0},
      {"awq_4", DType::q4_1},     {"ct_pack_4", DType::q4_0},      {"ct_pack_3", DType::q4_1},
      {"ct_pack_8", DType::q8_0}, {"ct_pack_4_asym", DType::q4_1}, {"ct_int_8", DType::q8_0},
      {"ct_mxfp4", DType::mxfp4}, {"bnb_int8", DType::q8_0},       {"mlx_4", DType::q4_1},
      {"mlx_3", DType::q4_1}};
  int cases = 0;
  for (const auto& file : std::filesystem::directory_iterator(recorded_cases)) {
    const std::string name = file.path().stem().generic_string();
    INFO(name);
    ++cases;
    const SafetensorsFile recorded = recorded_case(name);
    const TemporaryFolder folder;
    write_case(recorded, config_key(name), how_of(recorded), folder);
    const auto weights = open_weights(folder.path());
    size_t matrices = 0;
    for (const TensorEntry& entry : recorded.tensors()) {
      if (!entry.name.starts_with(expected_prefix)) continue;
      ++matrices;
      const WeightTensor* weight = weights->find(entry.name.substr(expected_prefix.size()));
      INFO(entry.name);
      REQUIRE(weight != nullptr);
      REQUIRE(std::ranges::equal(weight->shape(), entry.shape));
      REQUIRE(weight->is_float());
      std::vector<float> expected(static_cast<size_t>(entry.elements())), values(expected.size());
      recorded.read_floats(entry, expected);
      weight->read_floats(0, values);
      for (size_t i = 0; i < values.size(); ++i)
        REQUIRE(std::abs(values[i] - expected[i]) <= 1e-6f * std::abs(expected[i]));
      // Parts are those of the whole, wherever they begin.
      const int64_t columns = entry.shape[1];
      for (const int64_t first : {int64_t{1}, columns - 3, 2 * columns, entry.elements() - columns / 2}) {
        std::vector<float> part(static_cast<size_t>(std::min(columns + 5, entry.elements() - first)));
        weight->read_floats(first, part);
        REQUIRE(std::ranges::equal(part, std::span(values).subspan(static_cast<size_t>(first), part.size())));
      }
      // As a store has it: the same codes; scales and results are rounded to f16.
      const auto type = weight->stored(false);
      const auto known = stored_types.find(name);
      REQUIRE(type == (known == stored_types.end() ? DType::f16 : known->second));
      std::vector<std::byte> bytes(static_cast<size_t>(encoded_bytes(*type, entry.elements())));
      weight->read_stored(0, bytes);
      std::vector<float> decoded(values.size());
      decode(*type, bytes, decoded);
      float largest = 0;
      for (const float value : values) largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i < values.size(); ++i) REQUIRE(std::abs(decoded[i] - values[i]) <= largest / 1024);
      std::vector<std::byte> row(bytes.size() / static_cast<size_t>(entry.shape[0]));
      weight->read_stored(3 * columns, row);
      REQUIRE(std::ranges::equal(row, std::span(bytes).subspan(3 * row.size(), row.size())));
      weight->release(0, entry.elements());
    }
    CHECK(weights->tensors().size() == matrices + 1);  // and the norm
    CHECK(weights->find("model.norm.weight") != nullptr);
  }
  CHECK(cases == 32);
}

TEST_CASE("what is wrong with quantised weights is told by name", "[weights]") {
  const auto error = [](const std::string& name, const json& changes,
                        const std::function<void(std::vector<TensorSource>&)>& change = {}) {
    const SafetensorsFile recorded = recorded_case(name);
    json how = how_of(recorded);
    how.update(changes);
    const TemporaryFolder folder;
    write_case(recorded, config_key(name), how, folder, change);
    return error_of([&] {
      const auto weights = open_weights(folder.path());
      std::vector<float> values(64);
      for (const auto& tensor : weights->tensors()) tensor->read_floats(0, values);
    });
  };
  const auto without = [](std::string_view end) {
    return [end](std::vector<TensorSource>& tensors) {
      std::erase_if(tensors, [&](const TensorSource& t) { return t.name.ends_with(end); });
    };
  };
  CHECK_THAT(error("gptq_4", json::object(), without(".qzeros")),
             ContainsSubstring("up_proj.qweight\" without its model.layers.0.mlp.up_proj.qzeros"));
  CHECK_THAT(error("fp8_block", json::object(), without("_inv")),
             ContainsSubstring("without its model.layers.0.mlp.up_proj.weight_scale"));
  CHECK_THAT(error("ct_pack_4", {{"config_groups", json::object()}}),
             ContainsSubstring("weight_shape\" has shape [2], which does not fit the shape [32, 8]"));
  CHECK_THAT(error("gptq_4_v2", {{"sym", true}}), ContainsSubstring("zeros that are not in the middle"));
  CHECK_THAT(error("gptq_4", {{"checkpoint_format", "marlin"}}),
             ContainsSubstring("checkpoint_format 'marlin' is not supported; take the original model"));
  CHECK_THAT(error("awq_4", {{"version", "gemv"}}), ContainsSubstring("version 'gemv' is not supported"));
  CHECK_THAT(error("mlx_4", {{"group_size", 7}}), ContainsSubstring("does not fit"));
  CHECK_THAT(error("mlx_4", {{"mode", "mxfp4"}}), ContainsSubstring("mode 'mxfp4' is not supported"));
  CHECK_THAT(error("ct_int_8", {{"format", "marlin-24"}}), ContainsSubstring("format 'marlin-24' is not supported"));
  CHECK_THAT(error("ct_int_8", {{"transform_config", {{"config_groups", 1}}}}),
             ContainsSubstring("transform_config is not supported"));
  CHECK_THAT(error("modelopt_fp8", {{"quant_algo", "W4A8_AWQ"}}),
             ContainsSubstring("quant_algo 'W4A8_AWQ' is not supported"));
  for (const json& value : {json(3), json("x"), json{{"format", nullptr}, {"x", 1}}})
    CHECK_THAT(error("ct_int_8", {{"sparsity_config", value}}), ContainsSubstring("sparsity_config"));
  const auto with = [](const char* name) {
    return [name](std::vector<TensorSource>& tensors) {
      static const std::vector<float> values(2);
      tensors.push_back(TensorSource::of(name, {2}, values));
    };
  };
  CHECK_THAT(error("modelopt_fp8", json::object(), with("model.layers.0.mlp.up_proj.pre_quant_scale")),
             ContainsSubstring("not known what tensor \"model.layers.0.mlp.up_proj.pre_quant_scale\" does"));
  CHECK_THAT(error("awq_4", json::object(), with("model.layers.0.mlp.act.scales")),
             ContainsSubstring("activations with scales (\"model.layers.0.mlp.act.scales\") are not supported"));
  CHECK_THAT(error("bnb_int8", json::object(),
                   [](std::vector<TensorSource>& tensors) {
                     static constexpr std::byte turing{2};
                     for (TensorSource& tensor : tensors)
                       if (tensor.name.ends_with("weight_format")) tensor.data = [] { return std::span(&turing, 1); };
                   }),
             ContainsSubstring("weight_format\" has a value that is not supported"));
  CHECK_THAT(error("gptq_4", {{"quant_method", "aqlm"}}),
             ContainsSubstring("its weights are quantised (aqlm), which is not supported"));
}

TEST_CASE("configs say in several ways how weights are quantised", "[weights]") {
  const auto error = [](const std::string& name, const json& config, const std::string& beside = {},
                        const json& how = {}) {
    const TemporaryFolder folder;
    write_case(recorded_case(name), "unused", {}, folder);
    std::ofstream(folder / "config.json") << config;
    if (!beside.empty()) std::ofstream(folder / beside) << how;
    return error_of([&] {
      const auto weights = open_weights(folder.path());
      check(weights->find("model.layers.0.mlp.up_proj.weight")->is_float(), "not read");
    });
  };
  const auto read = [&](const std::string& name, const json& config, const std::string& beside = {},
                        const json& how = {}) {
    INFO(name << " " << config << " " << beside);
    CHECK(error(name, config, beside, how).empty());
  };
  const auto how_of_case = [](const std::string& name) { return how_of(recorded_case(name)); };
  read("fp8_tensor", {{"text_config", {{"quantization_config", how_of_case("fp8_tensor")}}}});
  read("mlx_4", {{"quantization_config", how_of_case("mlx_4")}});
  read("bnb_nf4", {{"quantization_config", {{"load_in_4bit", true}}}});
  for (const char* packing : {"auto_round:gptq", "auto_round:auto_gptq"})
    read("gptq_4", {{"quantization_config",
                     {{"quant_method", "auto-round"},
                      {"bits", 4},
                      {"group_size", 32},
                      {"sym", true},
                      {"packing_format", packing}}}});
  read("gptq_4", json::object(), "quantize_config.json",
       {{"bits", 4}, {"group_size", 32}, {"sym", true}, {"desc_act", false}});
  read("awq_4", json::object(), "quant_config.json",
       {{"zero_point", true}, {"q_group_size", 32}, {"w_bit", 4}, {"version", "GEMM"}});
  read("modelopt_nvfp4", json::object(), "hf_quant_config.json",
       {{"producer", {{"name", "modelopt"}}}, {"quantization", {{"quant_algo", "NVFP4"}}}});
  // Bits and groups of single layers.
  json other_group = how_of_case("mlx_4");
  other_group["group_size"] = 64;
  other_group["bits"] = 8;
  other_group["model.layers.0.mlp.up_proj"] = {{"group_size", 32}, {"bits", 4}};
  other_group["model.embed_tokens"] = {{"group_size", 32}, {"bits", 4}};
  read("mlx_4", {{"quantization", other_group}});
  json other_bits = how_of_case("gptq_8");
  other_bits["bits"] = 4;
  read("gptq_8", {{"quantization_config", other_bits}});
  CHECK_THAT(error("gptq_4", {{"quantization_config", json::object()}}),
             ContainsSubstring("quantised (without a quant_method)"));
}

TEST_CASE("damaged quantised weights are refused or read, and nothing else", "[weights]") {
  /// What may be wrong with one tensor of a folder.
  const std::vector<std::function<void(TensorSource&, std::vector<std::byte>&)>> damages = {
      [](TensorSource& tensor, std::vector<std::byte>&) {
        tensor.shape = {std::accumulate(tensor.shape.begin(), tensor.shape.end(), int64_t{1}, std::multiplies<>())};
      },
      [](TensorSource& tensor, std::vector<std::byte>&) { std::ranges::reverse(tensor.shape); },
      [](TensorSource& tensor, std::vector<std::byte>& bytes) {
        if (!tensor.shape.empty() && tensor.shape[0] > 1)
          bytes.resize(bytes.size() / static_cast<size_t>(tensor.shape[0]--) * static_cast<size_t>(tensor.shape[0]));
      },
      [](TensorSource& tensor, std::vector<std::byte>& bytes) {
        tensor.shape = {0, 1};
        bytes.clear();
      },
      [](TensorSource& tensor, std::vector<std::byte>& bytes) {
        tensor.dtype = FileDType::u8;
        tensor.shape = {std::ssize(bytes) / 2, 2};
        bytes.resize(bytes.size() / 2 * 2);
      },
      [](TensorSource&, std::vector<std::byte>& bytes) { std::ranges::fill(bytes, std::byte{0xFF}); },
      [](TensorSource&, std::vector<std::byte>& bytes) { std::ranges::fill(bytes, std::byte{0x7F}); }};
  int refused = 0;
  for (const auto& file : std::filesystem::directory_iterator(recorded_cases)) {
    const std::string name = file.path().stem().generic_string();
    const SafetensorsFile recorded = recorded_case(name);
    const TemporaryFolder folder;
    size_t count = 0;
    for (size_t damaged = 0, damage = 0; damage < damages.size();
         damaged + 1 < count ? ++damaged : (damaged = 0, ++damage)) {
      std::vector<std::byte> bytes;
      write_case(recorded, config_key(name), how_of(recorded), folder, [&](std::vector<TensorSource>& tensors) {
        count = tensors.size();
        TensorSource& tensor = tensors[damaged];
        const auto whole = tensor.data();
        bytes.assign(whole.begin(), whole.end());
        damages[damage](tensor, bytes);
        tensor.data = [&bytes] { return std::span<const std::byte>(bytes); };
      });
      try {
        const auto weights = open_weights(folder.path());
        for (const auto& tensor : weights->tensors()) {
          std::vector<float> values(static_cast<size_t>(tensor->elements()));
          if (tensor->is_float()) tensor->read_floats(0, values);
          if (const auto type = tensor->stored(false)) {
            std::vector<std::byte> stored(static_cast<size_t>(encoded_bytes(*type, tensor->elements())));
            tensor->read_stored(0, stored);
          }
        }
      } catch (const Error&) {
        ++refused;
      }
    }
  }
  CHECK(refused > 400);
}
