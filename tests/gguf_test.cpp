// Models as GGUF files: names and orders of tensors, mixtures, and what can't be is refused.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/gguf/architectures.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_export.h"
#include "models/gguf/gguf_weights.h"
#include "models/model_files.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/gguf.h"
#include "tests/gguf_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

/// Numbers as GGUF files have them.
nlohmann::json in_single_precision(nlohmann::json value) {
  if (value.is_number_float()) return value.get<float>();
  if (value.is_structured())
    for (nlohmann::json& part : value) part = in_single_precision(part);
  return value;
}

}  // namespace

TEST_CASE("a folder, a GGUF file and the folder again are one model", "[gguf]") {
  const TemporaryFolder folder;
  // Files say that of SmolLM3 every fourth layer is without rotary positions, and nothing else.
  CHECK_THAT(error_of([&] { write_fixture(folder, "smollm3", "f32"); }),
             ContainsSubstring("which layers have no rotary positions"));
  CHECK_THAT(error_of([&] { write_fixture(folder, "falcon_new", "f32"); }),
             ContainsSubstring("can't say \"bias\" true"));
  CHECK_THAT(error_of([&] { write_fixture(folder, "gpt_bigcode_heads", "f32"); }),
             ContainsSubstring("can't say \"multi_query\" false"));
  for (const char* fixture :
       {"llama",      "mistral",    "qwen2",       "gpt2",        "gpt_neox",   "bert_cls",    "gpt_neox_sequential",
        "t5",         "t5_v11",     "qwen3",       "olmo2",       "phi3",       "qwen3_moe",   "nemotron_h_latent",
        "llama_yarn", "phi3_long",  "phi3_short",  "gemma",       "gemma2",     "gemma3",      "falcon_grouped",
        "mixtral",    "granite",    "olmoe",       "qwen2_moe",   "olmo3",      "phi",         "nemotron_h_moe",
        "starcoder2", "stablelm",   "olmo",        "gpt_oss",     "exaone4",    "glm4",        "llama_linear",
        "cohere",     "cohere2",    "ernie4_5",    "arcee",       "ministral3", "seed_oss",    "ernie4_5_moe",
        "bloom",      "qwen3_5",    "qwen3_5_moe", "lfm2_moe",    "glm4_moe",   "deepseek_v2", "deepseek_v3",
        "qwen3_next", "granitemoe", "falcon",      "gpt_bigcode", "mpt"}) {
    INFO(fixture);
    const auto file = write_fixture(folder, fixture, "f32");
    const Model before = load_model(fixtures / fixture), after = load_model(file);
    const Weights ours(before.parameters, fixtures / fixture), theirs(after.parameters, file);
    CHECK(theirs.extra().empty());
    CHECK(theirs.absent().empty());
    REQUIRE(before.parameters.size() == after.parameters.size());
    const std::string_view name = fixture;
    const bool gains_less_one = name.starts_with("gemma") || name.starts_with("qwen3_5") || name == "qwen3_next";
    for (const ParameterSpec& parameter : before.parameters) {
      INFO(parameter.name);
      const std::vector<float> a = ours.read(parameter.name), b = theirs.read(parameter.name);
      REQUIRE(a.size() == b.size());
      bool equal = true;
      // The gains of Gemma's and Qwen3.5's norms are stored one larger, logarithms of delta nets as exponentials.
      const bool gains = gains_less_one && parameter.name.ends_with("norm.weight");
      const bool logarithms = parameter.name.ends_with("A_log");
      for (size_t i = 0; i < a.size(); ++i)
        equal = equal && (a[i] == b[i] || (gains && b[i] == (a[i] + 1.0f) - 1.0f) ||
                          (logarithms && std::abs(b[i] - a[i]) < 3e-7f));
      CHECK(equal);
    }
    // What a file can't say has its usual value: dropout, and how a training would begin.
    json said = *before.config, read = *after.config;
    if (name == "mpt")  // kept of a folder, for others to read
      for (const char* key : {"attn_impl", "attn_uses_sequence_id", "dtype", "model_type", "prefix_lm", "qk_ln"})
        said["attn_config"].erase(key);
    for (const auto& [key, value] : read.items())
      if (key.find("drop") == key.npos && key != "initializer_range" && key != "initializer_factor" &&
          key != "bos_token_id" && key != "eos_token_id") {
        INFO(key);
        CHECK(in_single_precision(said.value(key, value)) == in_single_precision(value));
      }
  }
}

TEST_CASE("Nomic's BERT goes through GGUF files without its head for masked words", "[gguf]") {
  const TemporaryFolder folder;
  const auto file = write_fixture(folder, "nomic_mlm", "f32");
  const Model before = load_model(fixtures / "nomic_mlm"), after = load_model(file);
  CHECK(after.task == Task::states);
  CHECK(after.context == before.context);
  for (const char* key : {"hidden_act", "rope_theta", "type_vocab_size", "intermediate_size"})
    CHECK(before.config->at(key) == after.config->at(key));
  const Weights ours(before.parameters, fixtures / "nomic_mlm"), theirs(after.parameters, file);
  CHECK(theirs.extra().empty());
  for (const ParameterSpec& parameter : after.parameters)
    CHECK(ours.read(parameter.name) == theirs.read(parameter.name));
  CHECK_THAT(error_of([&] { write_fixture(folder, "nomic_cls", "f32"); }),
             ContainsSubstring(
                 "no place for tensor \"nomic_bert.pooler.dense.weight\" of a classifier; convert it to a folder"));
}

TEST_CASE("a Falcon-H1 goes through GGUF files with its factors in its weights", "[gguf]") {
  const TemporaryFolder folder;
  const std::filesystem::path fixture = fixtures / "falcon_h1", file = folder / "m.gguf";
  CHECK_THAT(error_of([&] { write_fixture(folder, "falcon_h1", "f32"); }),
             ContainsSubstring("can't say \"embedding_multiplier\" 1.5"));
  const json given = *load_model(fixture).config;
  json config = given;
  for (const auto& [key, value] : given.items())
    if (key.find("multiplier") != key.npos) config.erase(key);
  const auto write = [&](const json& changed) {
    const Model model = make_model(JsonObject::make(changed, "config.json"));
    write_model_as_gguf(file, model, Weights(model.parameters, fixture), fixture, Mixture("f32"));
    return model;
  };
  const Model before = write(config), after = load_model(file);
  const Weights ours(before.parameters, fixture), theirs(after.parameters, file);
  CHECK(theirs.extra().empty());
  for (const ParameterSpec& parameter : before.parameters) {
    INFO(parameter.name);
    const std::vector<float> a = ours.read(parameter.name), b = theirs.read(parameter.name);
    const float most = parameter.name.ends_with("A_log") ? 3e-7f : 0.0f;
    CHECK(std::ranges::equal(a, b, [&](float x, float y) { return std::abs(x - y) <= most; }));
  }
  for (const char* key : {"mamba_d_ssm", "mamba_d_head", "mamba_n_heads", "mamba_n_groups", "mamba_d_state",
                          "mamba_rms_norm", "head_dim", "ssm_multipliers", "mlp_multipliers"})
    CHECK(before.config->at(key) == after.config->at(key));
}

TEST_CASE("rows of queries and keys are where GGUF files have them", "[gguf]") {
  const TemporaryFolder folder;
  const auto file = write_fixture(folder, "llama", "f32");
  const Model model = load_model(fixtures / "llama");  // 4 heads of 16 columns, 2 of keys
  const Weights weights(model.parameters, fixtures / "llama");
  const GgufFile written(file);
  for (const auto& [stored, theirs, heads] :
       {std::tuple{"blk.1.attn_q.weight", "model.layers.1.self_attn.q_proj.weight", 4},
        {"blk.1.attn_k.weight", "model.layers.1.self_attn.k_proj.weight", 2}}) {
    const std::string wanted = stored;
    const auto tensor = std::ranges::find(written.tensors(), wanted, &GgufTensor::name);
    REQUIRE(tensor != written.tensors().end());
    const std::vector<float> values = weights.read(theirs);
    std::vector<float> rows(values.size());
    decode(DType::f32, tensor->bytes, rows);
    // stored = W.reshape(heads, 2, 8, in).swapaxes(1, 2)
    bool equal = true;
    for (int head = 0; head < heads; ++head)
      for (int half = 0; half < 2; ++half)
        for (int i = 0; i < 8; ++i)
          for (int column = 0; column < 64; ++column)
            equal = equal && rows[static_cast<size_t>(((head * 8 + i) * 2 + half) * 64 + column)] ==
                                 values[static_cast<size_t>(((head * 2 + half) * 8 + i) * 64 + column)];
    CHECK(equal);
  }
}

TEST_CASE("a Granite 4 without state spaces is a plain Granite in GGUF files", "[gguf]") {
  const TemporaryFolder folder;
  const auto file = write_fixture(folder, "granite4", "f32");
  const Model before = load_model(fixtures / "granite4"), after = load_model(file);
  CHECK(after.family == "granite");
  const Weights ours(before.parameters, fixtures / "granite4"), theirs(after.parameters, file);
  CHECK(theirs.extra().empty());
  const auto joined = [&](const std::string& layer) {
    std::vector<float> rows = theirs.read(layer + ".mlp.gate_proj.weight");
    const std::vector<float> more = theirs.read(layer + ".mlp.up_proj.weight");
    rows.insert(rows.end(), more.begin(), more.end());
    return rows;
  };
  for (const char* layer : {"model.layers.0", "model.layers.1"}) {
    CHECK(joined(layer) == ours.read(std::string(layer) + ".shared_mlp.input_linear.weight"));
    for (const char* part : {".self_attn.q_proj.weight", ".self_attn.k_proj.weight"})
      CHECK(theirs.read(std::string(layer) + part) == ours.read(std::string(layer) + part));
  }
}

TEST_CASE("blocks of a GGUF file are read in the order of rows that the model has", "[gguf]") {
  const TemporaryFolder folder;
  for (const char* fixture : {"llama", "gpt2"}) {
    INFO(fixture);
    const auto file = write_fixture(folder, fixture, "q8_0");
    const Model model = load_model(file);
    const Weights plain(model.parameters, fixtures / fixture), weights(model.parameters, file);
    int with_blocks = 0;
    for (const ParameterSpec& parameter : model.parameters) {
      const WeightTensor* tensor = weights.files().find(parameter.name);
      REQUIRE(tensor != nullptr);
      const bool turned = tensor->stored(true) == DType::q8_0;
      if (tensor->stored(turned) != DType::q8_0) continue;
      ++with_blocks;
      INFO(parameter.name);
      std::vector<float> values = plain.read(parameter.name), read(values.size());
      std::vector<std::byte> blocks(static_cast<size_t>(encoded_bytes(DType::q8_0, std::ssize(values)))),
          stored(blocks.size());
      if (turned) {  // Conv1D
        const auto rows = static_cast<size_t>(parameter.shape[0]), columns = static_cast<size_t>(parameter.shape[1]);
        const std::vector<float> copy = values;
        for (size_t r = 0; r < rows; ++r)
          for (size_t c = 0; c < columns; ++c) values[c * rows + r] = copy[r * columns + c];
      }
      encode(DType::q8_0, values, blocks);
      tensor->read_stored(0, stored);
      CHECK(stored == blocks);
      decode(DType::q8_0, blocks, values);
      if (turned)
        tensor->read_columns(0, read);
      else
        tensor->read_floats(0, read);
      CHECK(read == values);
    }
    CHECK(with_blocks > 8);
  }
}

TEST_CASE("weights are mixed as llama-quantize does", "[gguf]") {
  std::vector<Mixture::Tensor> tensors = {{"token_embd.weight", {64, 512}}, {"output.weight", {64, 512}}};
  for (int layer = 0; layer < 8; ++layer)
    for (const char* name : {"attn_v.weight", "attn_q.weight", "ffn_down.weight", "attn_norm.weight"})
      tensors.push_back({fmt::format("blk.{}.{}", layer, name),
                         name[5] == 'n' ? std::vector<int64_t>{512} : std::vector<int64_t>{512, 512}});
  const auto types = Mixture("q4_k_m").types_of(tensors, {.layers = 8});
  std::string better;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const bool more = types[i] == DType::q6_k;
    if (more) better += tensors[i].name + " ";
    if (tensors[i].name.ends_with("norm.weight")) CHECK(types[i] == DType::f32);
    if (tensors[i].name.ends_with("attn_q.weight")) CHECK(types[i] == DType::q4_k);
  }
  // Of 8 layers the first, the last, and each third between.
  CHECK(better ==
        "output.weight blk.0.attn_v.weight blk.0.ffn_down.weight blk.3.attn_v.weight blk.3.ffn_down.weight "
        "blk.6.attn_v.weight blk.6.ffn_down.weight blk.7.attn_v.weight blk.7.ffn_down.weight ");
  // Rows that blocks of 256 do not fill, and some that those of 32 do not.
  for (Mixture::Tensor& tensor : tensors) tensor.shape.back() = 96;
  CHECK(Mixture("q4_k_m").types_of(tensors, {.layers = 8})[0] == DType::q5_0);
  CHECK(Mixture("q4_k_m").types_of(tensors, {.layers = 8})[1] == DType::q8_0);
  CHECK(Mixture("iq4_xs").types_of(tensors, {.layers = 8})[0] == DType::iq4_nl);
  for (Mixture::Tensor& tensor : tensors) tensor.shape.back() = 33;
  CHECK(Mixture("q8_0").types_of(tensors, {.layers = 8})[0] == DType::f16);
  CHECK_THAT(error_of([] { Mixture("q9"); }), ContainsSubstring("there are no q9 weights; there are f32, f16"));
}

TEST_CASE("weights are mixed by what their layers have", "[gguf]") {
  const auto types_of = [](const std::vector<std::string>& names, const Mixture::Sizes& sizes, const char* mixture) {
    std::vector<Mixture::Tensor> tensors;
    for (const std::string& name : names) tensors.push_back({name, {512, 512}});
    std::string types;
    for (const DType type : Mixture(mixture).types_of(tensors, sizes)) types += fmt::format("{} ", name_of(type));
    return types;
  };
  // Queries, keys and values in one tensor get what values get.
  std::vector<std::string> names;
  for (int layer = 0; layer < 4; ++layer) names.push_back(fmt::format("blk.{}.attn_qkv.weight", layer));
  CHECK(types_of(names, {.layers = 4}, "q4_k_m") == "q4_k q4_k q6_k q6_k ");
  CHECK(types_of(names, {.layers = 4}, "q3_k_m") == "q5_k q5_k q4_k q4_k ");
  CHECK(types_of(names, {.layers = 4}, "q4_k_s") == "q5_k q5_k q5_k q5_k ");
  // An encoder's layers come behind the last of the decoder's.
  names.clear();
  for (const char* side : {"dec", "enc"})
    for (int layer = 0; layer < 4; ++layer) names.push_back(fmt::format("{}.blk.{}.ffn_down.weight", side, layer));
  CHECK(types_of(names, {.layers = 4}, "q4_k_m") == "q4_k q4_k q6_k q6_k q6_k q6_k q6_k q6_k ");
  // Of experts and the one for all texts each layer has both; they count by layers.
  names.clear();
  for (int layer = 0; layer < 4; ++layer)
    for (const char* kind : {"exps", "shexp"}) names.push_back(fmt::format("blk.{}.ffn_down_{}.weight", layer, kind));
  CHECK(types_of(names, {.layers = 4, .experts = 6}, "q4_k_m") == "q4_k q4_k q4_k q4_k q6_k q6_k q6_k q6_k ");
  names = {"blk.0.ssm_conv1d.weight", "blk.0.ssm_out.weight"};
  CHECK(types_of(names, {.layers = 1}, "q4_k_m") == "f32 q4_k ");
  names = {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight", "blk.0.attn_output.weight"};
  CHECK(types_of(names, {.layers = 1, .experts = 8}, "q4_k_m") == "q4_k q8_0 q8_0 q5_k ");
  CHECK(types_of(names, {.layers = 1, .experts = 8}, "q5_k_m") == "q5_k q8_0 q8_0 q5_k ");
  const std::vector<Mixture::Tensor> mixed = {{"output.weight", {512, 64}},
                                              {"blk.0.ffn_up_exps.weight", {4, 64, 64}},
                                              {"blk.0.ffn_up_exps.bias", {4, 64}},
                                              {"blk.0.ffn_gate_inp.weight", {4, 64}}};
  CHECK(Mixture("mxfp4_moe").types_of(mixed, {.layers = 1, .experts = 4}) ==
        std::vector{DType::q8_0, DType::mxfp4, DType::f32, DType::f32});
}

TEST_CASE("all ids that end a text go through GGUF files", "[gguf]") {
  const TemporaryFolder folder;
  const auto source = folder / "model";
  std::filesystem::copy(fixtures / "llama", source);
  const auto ends_in_file = [&] {
    const Model model = load_model(source);
    write_model_as_gguf(folder / "m.gguf", model, Weights(model.parameters, source), source, Mixture("f32"));
    return gguf_config(GgufShards(folder / "m.gguf"))["eos_token_id"];
  };
  json config = json::parse(get(source / "config.json"));
  config["eos_token_id"] = {7, 3, 5};
  put(source / "config.json", config.dump());
  put(source / "generation_config.json", R"({"eos_token_id": [6, 4]})");
  CHECK(ends_in_file() == json{6, 4});  // as transformers generates
  put(source / "generation_config.json", "{}");
  CHECK(ends_in_file() == json{7, 3, 5});
}

TEST_CASE("how tokens are drawn goes through GGUF files", "[gguf]") {
  const TemporaryFolder folder;
  const auto source = folder / "model", file = folder / "m.gguf";
  std::filesystem::copy(fixtures / "llama", source);
  const auto convert = [&](const char* generation) {
    put(source / "generation_config.json", generation);
    const Model model = load_model(source);
    write_model_as_gguf(file, model, Weights(model.parameters, source), source, Mixture("f32"));
  };
  convert(R"({"do_sample": true, "temperature": 0.5, "top_k": 20, "min_p": null, "eos_token_id": [6, 4]})");
  REQUIRE(has_model_json(file, generation_file));
  const json generation = load_model_json(file, generation_file).value();
  CHECK(generation["do_sample"] == true);
  CHECK(generation["temperature"] == 0.5);
  CHECK(generation["top_k"] == 20);
  CHECK(generation["eos_token_id"] == json{6, 4});
  CHECK_FALSE(generation.contains("min_p"));
  convert(R"({"do_sample": true})");
  CHECK(load_model_json(file, generation_file).value()["temperature"] == 1);  // as transformers draws, not llama.cpp
  for (const char* greedy : {"{}", R"({"temperature": 0.5})", R"({"do_sample": false, "repetition_penalty": 2})"}) {
    convert(greedy);
    const json kept = load_model_json(file, generation_file).value();
    CHECK(kept["do_sample"] == false);
    CHECK_FALSE(kept.contains("temperature"));
    CHECK(kept.contains("repetition_penalty") == (std::string(greedy).find("penalty") != std::string::npos));
  }
}

TEST_CASE("GGUF files of models that are not known are refused by name", "[gguf]") {
  const TemporaryFolder folder;
  GgufPairs pairs;
  pairs.add_text("general.architecture", "mamba");
  write_gguf(folder / "m.gguf", pairs, {});
  CHECK_THAT(error_of([&] { load_model(folder / "m.gguf"); }),
             ContainsSubstring("m.gguf: architecture \"mamba\" is not supported; vkformer reads: llama, qwen2"));
  GgufPairs none;
  none.add_text("general.architecture", "llama");
  write_gguf(folder / "n.gguf", none, {});
  CHECK_THAT(error_of([&] { load_model(folder / "n.gguf"); }),
             ContainsSubstring("n.gguf: key llama.context_length is missing"));
  CHECK_THAT(error_of([&] { write_fixture(folder, "xlnet", "f32"); }),
             ContainsSubstring("GGUF files of xlnet are not supported"));
}
