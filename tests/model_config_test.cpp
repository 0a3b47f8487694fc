// What all families ask of a config and of a folder: architectures, sizes, names of tensors, ids.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/model.h"
#include "models/parameters.h"
#include "models/weights.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

std::string refusal(const nlohmann::json& config) {
  return error_of([&] { model_of(config); });
}

/// The tensors of a fixture under the names that `rename` gives them ("": left out); config.json as it is.
void copy_renamed(const std::string& fixture, const std::filesystem::path& to,
                  const std::function<std::vector<std::string>(const std::string&)>& rename) {
  const SafetensorsFile file(fixtures / fixture / "model.safetensors");
  std::vector<TensorSource> tensors;
  for (const TensorEntry& entry : file.tensors())
    for (const std::string& name : rename(entry.name))
      tensors.push_back(
          {.name = name, .dtype = entry.dtype, .shape = entry.shape, .data = [&entry] { return entry.bytes; }});
  write_safetensors(to / "model.safetensors", std::move(tensors));
}

}  // namespace

TEST_CASE("every family refuses the architectures of others", "[config]") {
  for (const auto& [fixture, wrong] :
       std::vector<std::pair<std::string, std::string>>{{"gpt2", "GPT2ForTokenClassification"},
                                                        {"gpt_neox", "GPTNeoXForTokenClassification"},
                                                        {"opt", "OPTForQuestionAnswering"},
                                                        {"bloom", "BloomModel"},
                                                        {"gpt_neo", "GPTNeoXForCausalLM"},
                                                        {"phi", "Phi3ForCausalLM"},
                                                        {"starcoder2", "GPTBigCodeForCausalLM"},
                                                        {"gptj", "GPTNeoForCausalLM"},
                                                        {"falcon", "RWForCausalLM"},
                                                        {"codegen", "GPTJForCausalLM"},
                                                        {"gpt_bigcode", "GPT2LMHeadModel"},
                                                        {"mpt", "MptModel"},
                                                        {"xglm", "XGLMModel"},
                                                        {"biogpt", "BioGptForTokenClassification"},
                                                        {"falcon_h1", "FalconForCausalLM"},
                                                        {"llama", "LlamaForTokenClassification"},
                                                        {"mistral", "LlamaForCausalLM"},
                                                        {"qwen2", "MistralForCausalLM"},
                                                        {"qwen3", "Qwen2ForCausalLM"},
                                                        {"gemma2", "GemmaForCausalLM"},
                                                        {"gemma3", "Gemma3ForConditionalGeneration"},
                                                        {"gemma4", "Gemma3ForCausalLM"},
                                                        {"phi3", "LlamaForCausalLM"},
                                                        {"olmo2", "Olmo3ForCausalLM"},
                                                        {"olmo", "Olmo2ForCausalLM"},
                                                        {"stablelm", "LlamaForCausalLM"},
                                                        {"smollm3", "LlamaForCausalLM"},
                                                        {"arcee", "LlamaForCausalLM"},
                                                        {"ministral3", "MistralForCausalLM"},
                                                        {"glm", "Glm4ForCausalLM"},
                                                        {"glm4", "GlmForCausalLM"},
                                                        {"cohere", "Cohere2ForCausalLM"},
                                                        {"cohere2", "CohereForCausalLM"},
                                                        {"ernie4_5", "LlamaForCausalLM"},
                                                        {"ernie4_5_moe", "Ernie4_5ForCausalLM"},
                                                        {"exaone4", "Olmo2ForCausalLM"},
                                                        {"hunyuan", "HunYuanMoEV1ForCausalLM"},
                                                        {"hunyuan_moe", "HunYuanDenseV1ForCausalLM"},
                                                        {"seed_oss", "LlamaForCausalLM"},
                                                        {"nanochat", "LlamaForCausalLM"},
                                                        {"nemotron_h", "NemotronForCausalLM"},
                                                        {"mixtral", "MistralForCausalLM"},
                                                        {"granite", "LlamaForCausalLM"},
                                                        {"granitemoe", "GraniteForCausalLM"},
                                                        {"granite4", "GraniteForCausalLM"},
                                                        {"granite4_mamba", "GraniteForCausalLM"},
                                                        {"lfm2", "LlamaForCausalLM"},
                                                        {"lfm2_moe", "Lfm2ForCausalLM"},
                                                        {"glm4_moe", "Glm4ForCausalLM"},
                                                        {"qwen3_next", "Qwen3_5MoeForCausalLM"},
                                                        {"deepseek_v2", "DeepseekV3ForCausalLM"},
                                                        {"deepseek_v3", "DeepseekV2ForCausalLM"},
                                                        {"glm4_moe_lite", "Glm4MoeForCausalLM"},
                                                        {"olmoe", "Olmo2ForCausalLM"},
                                                        {"olmo3", "Olmo2ForCausalLM"},
                                                        {"gpt_oss", "Qwen3MoeForCausalLM"},
                                                        {"qwen2_moe", "Qwen3MoeForCausalLM"},
                                                        {"qwen3_5", "Qwen3ForCausalLM"},
                                                        {"qwen3_5_moe", "Qwen3_5ForCausalLM"},
                                                        {"bart", "MarianModel"},
                                                        {"marian", "BartModel"},
                                                        {"t5", "T5EncoderModel"},
                                                        {"xlnet", "XLNetForTokenClassification"},
                                                        {"bert_mlm", "RobertaForMaskedLM"}}) {
    INFO(fixture);
    CHECK_THAT(refusal(fixture_config(fixture, {{"architectures", {wrong}}})),
               ContainsSubstring("config.json: architectures [\"" + wrong + "\"] is not supported"));
    CHECK_THAT(refusal(fixture_config(fixture, {{"architectures", "x"}})), ContainsSubstring("architectures"));
    const bool needed = fixture.starts_with("bert");  // it says which head there is
    CHECK(refusal(fixture_config(fixture, {{"architectures", nullptr}})).empty() == !needed);
  }
  CHECK(refusal(fixture_config("bart", {{"architectures", {"BartModel"}}})).empty());
  CHECK(refusal(fixture_config("marian", {{"architectures", {"MarianModel"}}})).empty());
}

TEST_CASE("a GPT-NeoX config that is written turns as many columns as the one that was read", "[config]") {
  for (const int64_t D : {6, 22, 58, 94, 98, 130, 202})
    for (int64_t width = 0; width <= D; width += 2) {
      const double share = (static_cast<double>(width) + 0.5) / static_cast<double>(D);
      if (share > 1) continue;
      const nlohmann::json config = {{"model_type", "gpt_neox"}, {"hidden_size", 7 * D}, {"num_attention_heads", 7},
                                     {"num_hidden_layers", 1},   {"rotary_pct", share},  {"vocab_size", 5},
                                     {"intermediate_size", 4}};
      const Model model = model_of(config);
      CHECK(model.config->at("rotary_pct") == share);
      CHECK(model.config->at("rope_parameters").at("partial_rotary_factor") == share);
      for (const Model& read : {model, model_of(*model.config)})
        CHECK((width == 0 ? read.constants.empty() : read.constants.at(0).type.shape.columns() == width));
    }
}

TEST_CASE("rotary positions are found where each version of transformers keeps them", "[config]") {
  // transformers 5 falls back to the key outside.
  const auto neox =
      fixture_config("gpt_neox", {{"rope_parameters", {{"rope_type", "default"}}}, {"rotary_emb_base", 500}});
  CHECK(model_of(neox).config->at("rope_parameters").at("rope_theta") == 500);
  const auto llama = fixture_config("llama", {{"rope_parameters", {{"rope_type", "default"}}}, {"rope_theta", 700}});
  CHECK(model_of(llama).config->at("rope_theta") == 700);
  // transformers 4 reads rope_scaling.
  const Model model = model_of(
      fixture_config("gpt_neox", {{"rope_parameters", {{"rope_type", "linear"}, {"factor", 4}, {"rope_theta", 900}}}}));
  CHECK(model.config->at("rotary_emb_base") == 900);
  REQUIRE(model.config->contains("rope_scaling"));
  CHECK(model.config->at("rope_scaling") == nlohmann::json({{"rope_type", "linear"}, {"factor", 4}}));
}

TEST_CASE("tied tensors are found under every name", "[config][weights]") {
  struct Case {
    std::string fixture, from, to;
    nlohmann::json changes = nlohmann::json::object();
  };
  for (const auto& [fixture, from, to, changes] :
       std::vector<Case>{{"bart", "model.shared.weight", "model.encoder.embed_tokens.weight"},
                         {"bart", "model.shared.weight", "model.decoder.embed_tokens.weight"},
                         {"bart", "model.shared.weight", "encoder.embed_tokens.weight"},
                         {"bart", "model.shared.weight", "lm_head.weight"},
                         {"marian", "model.shared.weight", "lm_head.weight"},
                         {"gpt2", "transformer.wte.weight", "lm_head.weight"},
                         {"opt", "model.decoder.embed_tokens.weight", "decoder.embed_tokens.weight"},
                         {"opt", "model.decoder.embed_tokens.weight", "lm_head.weight"},
                         {"gpt_neo", "transformer.wte.weight", "lm_head.weight"},
                         {"starcoder2", "model.embed_tokens.weight", "lm_head.weight"},
                         {"llama_linear", "model.embed_tokens.weight", "lm_head.weight"},
                         {"xlnet", "transformer.word_embedding.weight", "lm_loss.weight"},
                         {"roberta_mlm", "roberta.embeddings.word_embeddings.weight", "lm_head.decoder.weight"},
                         {"roberta_mlm", "lm_head.bias", "lm_head.decoder.bias"},
                         {"mpnet_mlm", "lm_head.bias", "lm_head.decoder.bias"},
                         {"bert_mlm", "bert.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
                         {"distilbert_mlm", "distilbert.embeddings.word_embeddings.weight", "vocab_projector.weight"},
                         {"electra_mlm", "electra.embeddings.word_embeddings.weight", "generator_lm_head.weight"},
                         {"deberta_mlm", "deberta.embeddings.word_embeddings.weight", "cls.predictions.decoder.weight"},
                         {"t5", "shared.weight", "lm_head.weight"},
                         {"gpt_neox", "embed_out.weight", "", {{"tie_word_embeddings", true}}},
                         {"gpt_neox", "gpt_neox.embed_in.weight", "", {{"tie_word_embeddings", true}}}}) {
    INFO(fixture << ": " << from << " as " << to);
    const TemporaryFolder folder;
    bool there = false;
    copy_renamed(fixture, folder.path(), [&](const std::string& name) -> std::vector<std::string> {
      there = there || name == from;
      return name != from ? std::vector{name} : to.empty() ? std::vector<std::string>{} : std::vector{to};
    });
    CHECK(there);
    const Model model = model_of(fixture_config(fixture, changes));
    CHECK(error_of([&] { Weights(model.parameters, folder.path()); }) == "");
  }
}

TEST_CASE("an untied BART has its table under the names of both stacks", "[config][weights]") {
  const TemporaryFolder folder;
  copy_renamed("bart", folder.path(), [](const std::string& name) -> std::vector<std::string> {
    if (name != "model.shared.weight") return {name};
    return {"model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"};
  });
  const Model model = model_of(fixture_config("bart", {{"tie_word_embeddings", false}}));
  CHECK(error_of([&] { Weights(model.parameters, folder.path()); }) == "");
}

TEST_CASE("a BART without prefix and without bias of the logits has a bias of zeros", "[config][weights]") {
  const TemporaryFolder folder;
  copy_renamed("bart", folder.path(), [](const std::string& name) -> std::vector<std::string> {
    if (name == "final_logits_bias") return {};
    return {name.substr(std::string("model.").size())};
  });
  const Model model = model_of(fixture_config("bart", {{"architectures", {"BartModel"}}}));
  const auto backend = make_reference_backend();
  StoreLayout layout;
  add_parameter_blocks(layout, "parameters", parameter_blocks(model.parameters, uint64_t{1} << 40));
  const auto store = backend->make_store(layout);
  store->write("final_logits_bias", std::vector<float>(static_cast<size_t>(model.vocabulary), 7.0f));
  const auto load = [&] { load_parameters(*store, model.parameters, folder.path()); };
  CHECK(error_of(load) == "");
  CHECK(store->read("final_logits_bias") == std::vector<float>(static_cast<size_t>(model.vocabulary), 0.0f));
}

TEST_CASE("models larger than any device are refused before anything is allocated", "[config][long]") {
  const auto too_large = ContainsSubstring("config.json: its sizes make a model of more than 2^42");
  CHECK_THAT(refusal({{"model_type", "llama"},
                      {"hidden_size", 1 << 20},
                      {"num_attention_heads", 1 << 20},
                      {"head_dim", 256},
                      {"num_hidden_layers", 10000}}),
             too_large);
  CHECK_THAT(refusal({{"model_type", "gpt2"}, {"n_embd", 1 << 20}, {"n_head", 1 << 12}}), too_large);
  CHECK(refusal({{"model_type", "llama"}, {"max_position_embeddings", 1 << 24}, {"num_hidden_layers", 1}}).empty());
}

TEST_CASE("positions of the original Transformer are sinusoids", "[config]") {
  CHECK(refusal(fixture_config("vaswani", {{"positions", "sinusoidal"}})).empty());
  CHECK(refusal(fixture_config("vaswani")).empty());
  CHECK_THAT(refusal(fixture_config("vaswani", {{"positions", "sinusoidal_halves"}})),
             ContainsSubstring("sinusoidal_halves"));
}

TEST_CASE("classes are counted with the same care in every family", "[config]") {
  for (const std::string fixture : {"bert_cls", "xlnet_cls"}) {
    INFO(fixture);
    const auto with = [&](const nlohmann::json& labels, const nlohmann::json& count) {
      return refusal(fixture_config(fixture, {{"id2label", labels}, {"num_labels", count}}));
    };
    CHECK(with(nullptr, 3).empty());
    const bool scores = fixture.starts_with("bert");  // one alone is a score
    CHECK(with(nullptr, 1).empty() == scores);
    CHECK(with({{"0", "one"}}, 3).empty() == scores);
    CHECK_THAT(with(nlohmann::json::object(), 3), ContainsSubstring("id2label"));
    CHECK_THAT(with({{"0", "a"}, {"2", "b"}}, 2), ContainsSubstring("id2label"));
    CHECK_THAT(with(nullptr, 1 << 24), ContainsSubstring("num_labels"));
  }
}

TEST_CASE("copies of a tied tensor must be equal", "[config][weights]") {
  const TemporaryFolder folder;
  const auto write = [&](float difference) {
    const std::vector<float> a{1, 2, 3}, b{1, 2, 3 + difference};
    write_safetensors(folder / "model.safetensors", {TensorSource::of("a", {3}, a), TensorSource::of("b", {3}, b)});
  };
  const auto error = [&](bool one_tensor) {
    const ParameterSpec parameter{.name = "a", .shape = {3}, .other_names = {"b"}, .one_tensor = one_tensor};
    return error_of([&] { Weights({parameter}, folder.path()); });
  };
  write(0);
  CHECK(error(true) == "");
  write(0.5f);
  CHECK_THAT(error(true), ContainsSubstring("tensors \"a\" and \"b\" differ"));
  CHECK(error(false) == "");
}

TEST_CASE("weights in shards and of 16 bits are written as one float32 file", "[weights]") {
  const TemporaryFolder folder;
  const std::vector<uint16_t> half{0x3c00, 0xc000, 0x0001}, brain{0x3f80, 0x7f7f};  // 1, -2, 2^-24; 1, the largest
  write_safetensors(folder / "model-1.safetensors",
                    {{.name = "half", .dtype = FileDType::f16, .shape = {3}, .data = [&] {
                        return std::as_bytes(std::span(half));
                      }}});
  write_safetensors(folder / "model-2.safetensors",
                    {{.name = "brain", .dtype = FileDType::bf16, .shape = {1, 2}, .data = [&] {
                        return std::as_bytes(std::span(brain));
                      }}});
  write_json(folder / "model.safetensors.index.json",
             {{"weight_map", {{"half", "model-1.safetensors"}, {"brain", "model-2.safetensors"}}}});
  const std::vector<ParameterSpec> parameters = {
      {.name = "model.brain", .shape = {1, 2}},
      {.name = "bias", .shape = {2}, .start = ParameterSpec::Start::ones, .optional = true},
      {.name = "half", .shape = {3}}};
  const Weights weights(parameters, folder.path());
  CHECK(weights.absent() == std::vector<std::string>{"bias"});
  weights.save(folder / "out.safetensors");
  const SafetensorsFile out(folder / "out.safetensors");
  const auto values = [&](const char* name) {
    const TensorEntry& entry = out.require(name);
    CHECK(entry.dtype == FileDType::f32);
    std::vector<float> read(static_cast<size_t>(entry.elements()));
    out.read_floats(entry, read);
    return read;
  };
  CHECK(out.tensors().size() == 3);
  CHECK(values("half") == std::vector<float>{1, -2, 0x1p-24f});
  CHECK(values("model.brain") == std::vector<float>{1, 0x1.FEp127f});
  CHECK(values("bias") == std::vector<float>{1, 1});
  CHECK_THAT(error_of([&] { weights.save(folder / "half.safetensors", {}, {}, FileDType::f16); }),
             ContainsSubstring("tensor \"model.brain\": 1 of 2 values are no finite numbers in f16, the first is"));
}

TEST_CASE("files of 16 bits keep what is never trained as it was", "[config]") {
  const TemporaryFolder folder;
  const Model model = load_model(fixtures / "lfm2_moe");
  const Weights weights(model.parameters, fixtures / "lfm2_moe");
  weights.save(folder / "half.safetensors", {}, {}, FileDType::bf16);
  const Weights half(model.parameters, folder / "half.safetensors");
  const std::string bias = "model.layers.1.feed_forward.expert_bias", norm = "model.layers.1.ffn_norm.weight";
  CHECK(half.read(bias) == weights.read(bias));
  CHECK(half.read(norm) != weights.read(norm));
}

TEST_CASE("ids, token types and paddings that a model does not know are refused", "[config]") {
  const auto error = [](const std::string& fixture, const Feed& feed) {
    const Model model = model_of(fixture_config(fixture));
    return error_of([&] { check_feed(model, {.rows = 2, .positions = 3}, feed); });
  };
  const std::vector<int32_t> fine{5, 6, 7, 5, 6, 7}, negative{5, 6, 7, 5, -1, 7}, large{5, 6, 7, 1000000, 6, 7};
  for (const std::string fixture : {"bert_mlm", "roberta_mlm", "xlnet", "gpt2", "distilbert_mlm", "mpnet_mlm"}) {
    INFO(fixture);
    CHECK(error(fixture, {{"ids", fine}}) == "");
    CHECK_THAT(error(fixture, {{"ids", negative}}), ContainsSubstring("ids holds -1"));
    CHECK_THAT(error(fixture, {{"ids", large}}), ContainsSubstring("ids holds 1000000"));
  }
  CHECK_THAT(error("bart", {{"source", large}}), ContainsSubstring("source holds 1000000"));
  const std::vector<int32_t> types{0, 1, 0, 0, 1, 9};
  CHECK_THAT(error("bert_mlm", {{"ids", fine}, {"segments", types}}), ContainsSubstring("segments holds 9"));
  CHECK(error("xlnet", {{"ids", fine}, {"segments", types}}) == "");

  // Hugging Face's RoBERTa counts positions over the ids that are not padding.
  const int32_t pad = fixture_config("roberta_mlm").at("pad_token_id");
  const std::vector<int32_t> left{5, 6, 7, pad, 6, 7}, right{5, 6, 7, 5, pad, pad}, inside{5, 6, 7, 5, pad, 7};
  const std::vector<int32_t> left_mask{1, 1, 1, 0, 1, 1}, right_mask{1, 1, 1, 1, 0, 0}, inside_mask{1, 1, 1, 1, 0, 1};
  CHECK(error("roberta_mlm", {{"ids", right}, {"mask", right_mask}}) == "");
  CHECK_THAT(error("roberta_mlm", {{"ids", right}}), ContainsSubstring("row 1"));
  CHECK_THAT(error("roberta_mlm", {{"ids", left}, {"mask", left_mask}}), ContainsSubstring("row 1"));
  CHECK_THAT(error("roberta_mlm", {{"ids", inside}, {"mask", inside_mask}}), ContainsSubstring("row 1"));
  CHECK(error("bert_mlm", {{"ids", left}, {"mask", left_mask}}) == "");

  // A state begins anew behind a gap.
  const std::vector<int32_t> gap{1, 1, 1, 1, 0, 1}, one_run{0, 0, 0, 0, 1, 0};
  for (const std::string fixture : {"qwen3_5", "lfm2", "granite4_mamba", "nemotron_h", "falcon_h1"}) {
    CHECK_THAT(error(fixture, {{"ids", fine}, {"mask", gap}}),
               ContainsSubstring("row 1 of the mask has a 0 at position 1"));
    CHECK(error(fixture, {{"ids", fine}, {"mask", one_run}}) == "");
  }
  CHECK(error("llama", {{"ids", fine}, {"mask", gap}}) == "");
}

TEST_CASE("a block larger than an allocation is refused by its name", "[config]") {
  StoreLayout layout;
  layout.add_block("constants", std::vector<StoreLayout::Part>{{"table", {{3, 5}}}});
  DeviceFacts facts{.name = "a device"};
  facts.max_allocation = 64;
  CHECK(error_of([&] { layout.check_blocks(facts); }) == "");
  facts.max_allocation = 48;
  CHECK_THAT(error_of([&] { layout.check_blocks(facts); }), ContainsSubstring("constants needs"));
}

TEST_CASE("every family names the keys of its dropout", "[config]") {
  for (const auto& entry : std::filesystem::directory_iterator(fixtures)) {
    if (!std::filesystem::exists(entry.path() / "config.json")) continue;
    const std::string fixture = entry.path().filename().generic_string();
    INFO(fixture);
    const Model model = model_of(fixture_config(fixture));
    if (model.task == Task::match) continue;  // which is not trained
    CHECK_FALSE(model.dropout_keys.empty());
    // A key that the family does not read would be accepted with any value, and would not be written.
    for (const std::string& key : model.dropout_keys) {
      INFO(key);
      CHECK_THAT(refusal(fixture_config(fixture, {{key, 7}})), ContainsSubstring(key));
      CHECK(model.config->contains(key));
    }
  }
}
