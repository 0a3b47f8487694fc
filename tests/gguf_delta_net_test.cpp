// Delta nets in GGUF files (Qwen3.5): the order of their heads, and which layers have one.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>

#include "models/gguf/architectures.h"
#include "models/gguf/gguf_weights.h"
#include "models/gguf/row_orders.h"
#include "runtime/encoding/encoding.h"
#include "tests/gguf_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// Of heads 0 to 5, three for each of two of keys, where a file has them.
constexpr int64_t places[] = {0, 2, 4, 1, 3, 5};

/// A file of one layer's tensor, whose net has 2 heads of keys of one column and 6 of values.
struct OneTensor {
  TemporaryFolder folder;
  std::vector<std::byte> bytes;  ///< of the file's tensor
  std::unique_ptr<GgufWeights> weights;

  OneTensor(const char* name, DType type, std::vector<int64_t> shape, const std::vector<float>& values,
            uint32_t heads = 6) {
    bytes.resize(static_cast<size_t>(encoded_bytes(type, std::ssize(values))));
    encode(type, values, bytes);
    GgufPairs pairs;
    pairs.add_text("general.architecture", "qwen35");
    pairs.add_integer("qwen35.ssm.time_step_rank", heads);
    pairs.add_integer("qwen35.ssm.group_count", 2);
    pairs.add_integer("qwen35.ssm.state_size", 1);
    write_gguf(folder / "m.gguf", pairs,
               {{name, &gguf_type_of(type), std::move(shape), [&] { return std::span<const std::byte>(bytes); }}});
    weights = std::make_unique<GgufWeights>(folder / "m.gguf");
  }
  const WeightTensor& tensor() const { return *weights->tensors().front(); }
  std::vector<float> floats() const {
    std::vector<float> values(static_cast<size_t>(tensor().elements()));
    tensor().read_floats(0, values);
    return values;
  }
};

std::vector<float> counted(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

/// The rows of a matrix in Hugging Face's order: from row `before` on, heads of `each` rows.
template <class Value>
std::vector<Value> with_heads_back(const std::vector<Value>& stored, size_t row, size_t before, size_t each) {
  std::vector<Value> result(stored.begin(), stored.begin() + static_cast<std::ptrdiff_t>(before * row));
  for (const int64_t place : places) {
    const auto from = stored.begin() + static_cast<std::ptrdiff_t>((before + static_cast<size_t>(place) * each) * row);
    result.insert(result.end(), from, from + static_cast<std::ptrdiff_t>(each * row));
  }
  return result;
}

/// What a file says of a model with such a config, and every how many of its layers have no delta net, or 0.
json config_of(const json& config, int64_t& interval) {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "qwen3_5", "f32"));
  GgufPairs pairs;
  pairs.add_text("general.architecture", "qwen35");
  add_config(pairs, *find_architecture("qwen35"), config);
  const json read = config_with(folder, pairs, whole);
  interval = GgufFile(folder / "m.gguf").metadata().integer_or("qwen35.full_attention_interval", 0, 1, 100);
  return read;
}

}  // namespace

TEST_CASE("heads of values lie apart in GGUF files, as many as there are of keys", "[gguf]") {
  const OneTensor gate("blk.0.attn_gate.weight", DType::f32, {12, 3}, counted(36));
  CHECK(gate.tensor().name() == "model.layers.0.linear_attn.in_proj_z.weight");
  CHECK(gate.floats() == with_heads_back(counted(36), 3, 0, 2));
  const OneTensor joint("blk.0.attn_qkv.weight", DType::f32, {16, 3}, counted(48));
  CHECK(joint.floats() == with_heads_back(counted(48), 3, 4, 2));
  const OneTensor channels("blk.0.ssm_conv1d.weight", DType::f32, {16, 4}, counted(64));
  CHECK(std::ranges::equal(channels.tensor().shape(), std::vector<int64_t>{16, 1, 4}));
  CHECK(channels.floats() == with_heads_back(counted(64), 4, 4, 2));
  const OneTensor steps("blk.0.ssm_dt.bias", DType::f32, {6}, counted(6));
  CHECK(steps.tensor().name() == "model.layers.0.linear_attn.dt_bias");
  CHECK(steps.floats() == with_heads_back(counted(6), 1, 0, 1));
  const OneTensor out("blk.0.ssm_out.weight", DType::f32, {1, 12}, counted(12));
  CHECK(out.floats() == with_heads_back(counted(12), 1, 0, 2));
}

TEST_CASE("decays of a delta net are logarithms of what GGUF files have", "[gguf]") {
  const OneTensor decays("blk.0.ssm_a", DType::f32, {6}, {-1, -2, -3, -4, -5, -6});
  CHECK(decays.tensor().name() == "model.layers.0.linear_attn.A_log");
  std::vector<float> wanted;
  for (const float a : with_heads_back(counted(6), 1, 0, 1)) wanted.push_back(std::log(a));
  CHECK(decays.floats() == wanted);
  CHECK_FALSE(decays.tensor().stored(false));
  const OneTensor wrong("blk.0.ssm_a", DType::f32, {6}, {-1, -2, -3, -4, 0.5f, -6});
  CHECK_THAT(error_of([&] { wrong.floats(); }),
             ContainsSubstring("made of values below 0; the file's \"blk.0.ssm_a\" has 0.5"));
}

TEST_CASE("blocks move with heads of columns that they fill", "[gguf]") {
  for (const auto& [type, whole] : {std::pair{DType::q8_0, true}, {DType::f16, true}, {DType::q4_k, false}}) {
    INFO(name_of(type));
    // Heads of 128 columns are half a block of Q4_K.
    const OneTensor out("blk.0.ssm_out.weight", type, {1, 768}, counted(768));
    std::vector<float> decoded(768);
    decode(type, out.bytes, decoded);
    CHECK(out.floats() == with_heads_back(decoded, 1, 0, 128));
    REQUIRE(out.tensor().stored(false).has_value() == whole);
    if (!whole) continue;
    std::vector<std::byte> blocks(out.bytes.size());
    out.tensor().read_stored(0, blocks);
    CHECK(blocks == with_heads_back(out.bytes, out.bytes.size() / 6, 0, 1));
  }
  const OneTensor rows("blk.0.attn_gate.weight", DType::q4_k, {12, 256}, counted(size_t{12} * 256));
  REQUIRE(rows.tensor().stored(false) == DType::q4_k);
  std::vector<std::byte> blocks(rows.bytes.size());
  rows.tensor().read_stored(0, blocks);
  CHECK(blocks == with_heads_back(rows.bytes, rows.bytes.size() / 12, 0, 2));
}

TEST_CASE("tensors that heads of values can't be in are refused", "[gguf]") {
  const auto error_with = [](const char* name, std::vector<int64_t> shape, uint32_t heads) {
    return error_of([&] { OneTensor(name, DType::f32, std::move(shape), counted(30), heads); });
  };
  CHECK_THAT(error_with("blk.0.attn_gate.weight", {10, 3}, 6),
             ContainsSubstring("\"blk.0.attn_gate.weight\" has 10 rows, not a multiple of 6 for 6 heads"));
  CHECK_THAT(error_with("blk.0.ssm_out.weight", {3, 10}, 6), ContainsSubstring("has 10 columns, not a multiple of 6"));
  CHECK_THAT(error_with("blk.0.ssm_out.weight", {30}, 6), ContainsSubstring("has 30 columns, not a multiple of 6"));
  CHECK_THAT(error_with("blk.0.attn_qkv.weight", {3, 10}, 6), ContainsSubstring("has -1 rows, not a multiple of 6"));
  CHECK_THAT(error_with("blk.0.attn_gate.weight", {10, 3}, 5),
             ContainsSubstring("5 heads of values are not a multiple of 2 of keys"));
}

TEST_CASE("a list says which layers of a GGUF file have delta nets, or every how many have none", "[gguf]") {
  const std::string net = "linear_attention", full = "full_attention";
  json config = *load_model(fixtures / "qwen3_5").config;
  config["full_attention_interval"] = 4;  // beside the list, as Qwen's own files have it
  const auto types = [&] {
    int64_t interval = 0;
    const json read = config_of(config, interval);
    return std::pair(read["layer_types"], static_cast<int>(interval));
  };
  CHECK(types() == std::pair(json{full, net, net, full}, 0));  // which no number says
  config["layer_types"] = {net, full, net, full};
  CHECK(types() == std::pair(json{net, full, net, full}, 2));
  config["layer_types"] = {net, net, net, net};
  CHECK(types() == std::pair(json{net, net, net, net}, 5));
}

TEST_CASE("older GGUF files have a number in place of a list of layers with delta nets", "[gguf]") {
  const TemporaryFolder folder;
  const auto file = write_fixture(folder, "qwen3_5", "f32");
  std::string bytes = get(file);
  bytes[bytes.find("attention.recurrent_layers")] = 'x';  // another's
  put(file, bytes);
  const json types = load_model(file).config->at("layer_types");
  CHECK(types == json{"linear_attention", "linear_attention", "linear_attention", "full_attention"});
}

TEST_CASE("layers that predict tokens further on are not read from GGUF files", "[gguf]") {
  const TemporaryFolder folder;
  const GgufFile whole(write_fixture(folder, "qwen3_5", "f32"));
  json config = *load_model(fixtures / "qwen3_5").config;
  config["num_hidden_layers"] = 5;
  config["layer_types"].push_back("full_attention");
  const auto file = folder / "further.gguf";
  const auto write = [&](uint32_t further) {
    GgufPairs pairs;
    pairs.add_text("general.architecture", "qwen35");
    add_config(pairs, *find_architecture("qwen35"), config);
    pairs.add_integer("qwen35.nextn_predict_layers", further);
    std::vector<GgufSource> sources;
    const auto add = [&](const std::string& name, const GgufTensor& tensor) {
      sources.push_back({name, tensor.type, tensor.shape, [&tensor] { return tensor.bytes; }});
    };
    for (const GgufTensor& tensor : whole.tensors()) add(tensor.name, tensor);
    for (const char* name : {"blk.4.attn_norm.weight", "blk.4.nextn.eh_proj.weight", "blk.4.ssm_a"})
      add(name, whole.tensors().front());
    write_gguf(file, pairs, sources);
  };
  write(1);
  const Model model = load_model(file);
  CHECK(model.config->at("num_hidden_layers") == 4);
  const Weights weights(model.parameters, file);
  CHECK(weights.extra().empty());
  CHECK(weights.absent().empty());
  write(5);
  CHECK_THAT(error_of([&] { load_model(file); }),
             ContainsSubstring("5 of 5 layers predict further tokens: none is left"));
}

TEST_CASE("what GGUF files of Qwen3.5 can't say is refused", "[gguf]") {
  const auto error_with = [](const json& changes) {
    json config = *load_model(fixtures / "qwen3_5").config;
    config.update(changes);
    GgufPairs pairs;
    return error_of([&] { add_config(pairs, *find_architecture("qwen35"), config); });
  };
  CHECK(error_with(json::object()).empty());
  CHECK_THAT(error_with({{"attention_bias", true}}), ContainsSubstring("can't say \"attention_bias\" true"));
  const json llama3 = {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 16}};
  CHECK_THAT(error_with({{"rope_scaling", llama3}}), ContainsSubstring("can't say \"rope_type\" \"llama3\""));
}
