// Embeddings of texts: what files say of them, and pooled hidden states.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/embedding/embedder.h"
#include "models/families/registry.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"
#include "tests/program_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

constexpr const char* both_ways = "gemma3, both ways";

std::filesystem::path folder_of(const std::string& name) { return fixtures / (name == both_ways ? "gemma3" : name); }

/// A folder with a recorded model; the classes that its config names are left out. Or Gemma 3 as EmbeddingGemma is.
Model recorded_model(const std::string& name) {
  if (name != both_ways) return without_head(load_model(fixtures / name));
  nlohmann::json config = JsonObject::load(folder_of(name) / "config.json").value();
  config.update({{"use_bidirectional_attention", true}, {"architectures", {"Gemma3TextModel"}}});
  const Model model = model_of(config);
  CHECK_FALSE(model.generates());
  CHECK(model_of(*model.config).constants.size() == model.constants.size());
  return without_head(model);
}

class Embedding {
 public:
  Embedding(Backend& backend, const std::string& name, Pooling pooling)
      : model_(recorded_model(name)),
        embedder_(backend, model_, store(backend, name), backend.make_workspace(), pooling) {}

  std::vector<std::vector<float>> of(const TokenTexts& texts, int64_t positions = 4096) {
    std::vector<std::vector<float>> all(texts.ids.size());
    embed_by_length(embedder_, texts, text_inputs(model_, texts.largest_segment()), positions,
                    [&](size_t text, std::vector<float> embedding) { all[text] = std::move(embedding); });
    return all;
  }

 private:
  std::shared_ptr<Store> store(Backend& backend, const std::string& name) const {
    auto store = make_model_store(backend, model_);
    load_parameters(*store, model_.parameters, folder_of(name));
    return store;
  }

  Model model_;
  Embedder embedder_;
};

void add_text(TokenTexts& texts, std::vector<int32_t> ids, std::vector<int32_t> segments = {}) {
  segments.resize(ids.size());
  texts.ids.push_back(std::move(ids));
  texts.segments.push_back(std::move(segments));
}

std::string recipe_error(const TemporaryFolder& folder) {
  return error_of([&] { embedding_recipe(folder.path()); });
}

void put_modules(const TemporaryFolder& folder, const std::string& pooling, const std::string& last = "Normalize") {
  const std::string type = R"("type": "sentence_transformers.models.)";
  put(folder / "modules.json", "[{\"path\": \"\", " + type + "Transformer\"}, {\"path\": \"1_Pooling\", " + type +
                                   "Pooling\"}, {\"path\": \"2\", " + type + last + "\"}]");
  std::filesystem::create_directories(folder / "1_Pooling");
  put(folder / "1_Pooling" / "config.json", pooling);
}

}  // namespace

TEST_CASE("embeddings are the recorded hidden states, pooled, whatever shares a batch",
          "[embedding][device][one_driver]") {
  const std::string name = GENERATE(as<std::string>(), "bert_mlm", "qwen3", both_ways);
  const Pooling pooling = GENERATE(Pooling::mean, Pooling::first, Pooling::last);
  INFO(name << ", " << name_of(pooling));
  const SafetensorsFile expected(folder_of(name) / "expected.safetensors");
  const SafetensorsFile of_states(folder_of(name) /
                                  (name == both_ways ? "bidirectional.safetensors" : "expected.safetensors"));
  const auto ints = [&](const char* tensor) {
    std::vector<int32_t> values(static_cast<size_t>(expected.require(tensor).elements()));
    expected.read_ints(expected.require(tensor), values);
    return values;
  };
  const std::vector<int64_t> shape = of_states.require("last_hidden_state").shape;
  std::vector<float> states(static_cast<size_t>(shape[0] * shape[1] * shape[2]));
  of_states.read_floats(of_states.require("last_hidden_state"), states);
  const auto ids = ints("input_ids"), mask = ints("attention_mask");
  const auto segments = expected.find("token_type_ids") ? ints("token_type_ids") : std::vector<int32_t>(ids.size());

  TokenTexts texts;
  std::vector<std::vector<float>> want;
  const auto T = static_cast<size_t>(shape[1]), C = static_cast<size_t>(shape[2]);
  for (size_t row = 0; row < static_cast<size_t>(shape[0]); ++row) {
    const auto begin = static_cast<std::ptrdiff_t>(row * T);
    const auto length = std::count(mask.begin() + begin, mask.begin() + begin + shape[1], 1);
    if (mask[row * T] == 0) continue;  // padded in front: its positions are not those of the text alone
    add_text(texts, {ids.begin() + begin, ids.begin() + begin + length},
             {segments.begin() + begin, segments.begin() + begin + length});
    const auto count = static_cast<size_t>(length);
    const size_t from = pooling == Pooling::last ? count - 1 : 0, to = pooling == Pooling::first ? 1 : count;
    std::vector<float> pooled(C);
    double squares = 0;
    for (size_t c = 0; c < C; ++c) {
      for (size_t t = from; t < to; ++t) pooled[c] += states[(row * T + t) * C + c];
      squares += static_cast<double>(pooled[c]) * static_cast<double>(pooled[c]);
    }
    for (float& x : pooled) x /= static_cast<float>(std::sqrt(squares));
    want.push_back(std::move(pooled));
  }
  REQUIRE(want.size() >= 2);
  auto backend = make_backend("");
  Embedding embedding(*backend, name, pooling);
  const auto together = embedding.of(texts), alone = embedding.of(texts, 1);
  for (size_t i = 0; i < want.size(); ++i) {
    CHECK(largest_difference(together[i], want[i]) < 2e-6);
    CHECK(largest_difference(alone[i], want[i]) < 2e-6);
    CHECK(std::abs(similarity(together[i], want[i]) - 1) < 1e-6);
  }
}

TEST_CASE("a model without its head needs nothing of it", "[embedding]") {
  for (const char* name : {"bert_cls", "bert_mlm", "distilbert_cls", "mpnet_cls", "electra_mlm", "albert_cls",
                           "nomic_cls", "deberta_cls", "modernbert_cls", "gpt_neox"})
    for (const ParameterSpec& parameter : recorded_model(name).parameters) {
      INFO(parameter.name);
      for (const char* of_head : {"classifier", "cls.", "head.", "generator_", "pooler", "embed_out"})
        CHECK(parameter.name.find(of_head) == std::string::npos);
    }
  CHECK(error_of([] { recorded_model("t5"); }).find("t5 model makes no embeddings") != std::string::npos);
}

TEST_CASE("encoders without a head are read under their class's name", "[embedding]") {
  for (const auto& [type, prefix] : {std::pair("bert", "Bert"),
                                     {"roberta", "Roberta"},
                                     {"xlm-roberta", "XLMRoberta"},
                                     {"camembert", "Camembert"},
                                     {"distilbert", "DistilBert"},
                                     {"mpnet", "MPNet"},
                                     {"electra", "Electra"},
                                     {"albert", "Albert"},
                                     {"nomic_bert", "NomicBert"}}) {
    INFO(type);
    const nlohmann::json config = {{"model_type", type}, {"architectures", {std::string(prefix) + "Model"}}};
    const Model model = model_of(config);
    CHECK(model.task == Task::states);
    CHECK(model.config->at("architectures") == config["architectures"]);
    CHECK(model.parameters.back().name.find("layer") != std::string::npos);
    CHECK_FALSE(predicts_masked_words(model));
  }
}

TEST_CASE("files of sentence-transformers say how embeddings are made", "[embedding]") {
  const TemporaryFolder folder;
  CHECK_FALSE(embedding_recipe(folder.path()).said);
  CHECK(embedding_recipe(folder.path()).pooling == Pooling::mean);
  put_modules(folder, R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})");
  CHECK(embedding_recipe(folder.path()).said);
  CHECK(embedding_recipe(folder.path()).pooling == Pooling::first);
  put_modules(folder, R"({"pooling_mode_lasttoken": true})");
  put(folder / "sentence_bert_config.json", R"({"max_seq_length": 256, "do_lower_case": false})");
  put(folder / "config_sentence_transformers.json", R"({"prompts": {"query": "q: ", "passage": "p: "}})");
  const EmbeddingRecipe recipe = embedding_recipe(folder.path());
  CHECK(recipe.pooling == Pooling::last);
  CHECK(recipe.most_tokens == 256);
  CHECK(recipe.query_prefix == "q: ");
  CHECK(recipe.text_prefix == "p: ");

  CHECK((recipe.counts_prefix && !recipe.lower_case));

  put_modules(folder, R"({"pooling_mode_lasttoken": true, "include_prompt": false})");
  put(folder / "sentence_bert_config.json", R"({"do_lower_case": true})");
  put(folder / "config_sentence_transformers.json",
      R"({"prompts": {"query": "q: ", "any": "a: "}, "default_prompt_name": "any"})");
  const EmbeddingRecipe other = embedding_recipe(folder.path());
  CHECK((!other.counts_prefix && other.lower_case));
  CHECK(other.query_prefix == "q: ");
  CHECK(other.text_prefix == "a: ");
  put(folder / "config_sentence_transformers.json", R"({"prompts": {}, "default_prompt_name": "any"})");
  CHECK(recipe_error(folder).find("\"any\"") != std::string::npos);

  put(folder / "config_sentence_transformers.json", "{}");
  put_modules(folder, R"({"pooling_mode_max_tokens": true})");
  CHECK(recipe_error(folder).find("pooling_mode_max_tokens is not supported") != std::string::npos);
  put_modules(folder, R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})");
  CHECK(recipe_error(folder).find("several poolings") != std::string::npos);
  put_modules(folder, R"({"word_embedding_dimension": 4})");
  CHECK(recipe_error(folder).find("names no pooling") != std::string::npos);
  put_modules(folder, R"({"pooling_mode_mean_tokens": true})", "Dense");
  CHECK(embedding_recipe(folder.path()).dense == std::vector<std::string>{"2"});
  put_modules(folder, R"({"pooling_mode_mean_tokens": true})", "CNN");
  CHECK(recipe_error(folder).find("a module CNN is not supported") != std::string::npos);
  for (const char* path : {"../2", "/2", "", "2/../.."}) {
    put(folder / "modules.json",
        fmt::format(R"([{{"path": "{}", "type": "sentence_transformers.models.Pooling"}}])", path));
    CHECK(recipe_error(folder).find("does not lie below") != std::string::npos);
  }
  put(folder / "modules.json", R"([{"path": "2", "type": "sentence_transformers.models.Dense"}])");
  CHECK(recipe_error(folder).find("behind Pooling and before Normalize alone") != std::string::npos);
}

TEST_CASE("a dense layer multiplies, adds and squashes", "[embedding]") {
  const TemporaryFolder folder;
  const std::vector<float> weight{1, 2, -1, 0.5f, 0, 3}, bias{0.25f, -1};
  write_safetensors(folder / "model.safetensors",
                    {TensorSource::of("linear.weight", {2, 3}, std::span<const float>(weight)),
                     TensorSource::of("linear.bias", {2}, std::span<const float>(bias))});
  const auto layer = [&](const std::string& rest) {
    put(folder / "config.json", R"({"in_features": 3, "out_features": 2)" + rest + "}");
    return DenseLayer::load(folder.path());
  };
  const std::vector<float> x{1, -1, 0.5f};
  CHECK(layer(R"(, "activation_function": "torch.nn.modules.linear.Identity")").of(x) == std::vector<float>{-1.25f, 1});
  CHECK(layer("").of(x) == std::vector<float>{std::tanh(-1.25f), std::tanh(1.0f)});
  CHECK(layer(R"(, "bias": false, "activation_function": "torch.nn.modules.linear.Identity")").of(x) ==
        std::vector<float>{-1.5f, 2});
  CHECK(error_of([&] { layer(R"(, "activation_function": "torch.nn.modules.activation.ReLU")"); }).find("ReLU") !=
        std::string::npos);
  CHECK(error_of([&] { layer("").of(std::vector<float>{1}); }).find("takes 3 numbers, and gets 1") !=
        std::string::npos);
}

TEST_CASE("a pooling that was written is read", "[embedding]") {
  for (const Pooling pooling : {Pooling::mean, Pooling::first, Pooling::last}) {
    const TemporaryFolder folder;
    write_pooling(folder.path(), pooling, 8);
    CHECK(embedding_recipe(folder.path()).said);
    CHECK(embedding_recipe(folder.path()).pooling == pooling);
    CHECK(pooling_named(name_of(pooling)) == pooling);
  }
}
