// BERT and its like as a whole: dropout, token types, configs.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/bert/bert.h"
#include "models/families/bert/disentangled.h"
#include "models/families/registry.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "tests/config_messages.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Head = BertConfig::Head;

/// Odd sizes.
BertConfig odd_config(const std::string& family, Head head, double dropout) {
  const bool counts_padding = family.ends_with("roberta") || family == "camembert" || family == "mpnet";
  BertConfig config{.family = family,
                    .head = head,
                    .vocabulary = 29,
                    .context = 13,
                    .first_position = counts_padding ? 2 : 0,
                    .segments = family == "distilbert" || family == "mpnet" || family == "deberta-v2" ? 0 : 3,
                    .width = family == "nomic_bert" ? 18 : 15,
                    .embedding_size = family == "electra" || family == "albert" ? 7 : 0,
                    .layers = 2,
                    .groups = family == "albert" ? 1 : 0,
                    .heads = 3,
                    .inner = 19,
                    .dropout = dropout,
                    .attention_dropout = dropout,
                    .head_dropout = dropout};
  if (config.is_nomic()) config.rotary = RotaryConfig{};
  if (head == Head::sequence || head == Head::tokens) config.classes.names = {"cat", "dog", "owl"};
  if (head == Head::answer && family != "distilbert") config.head_dropout = 0;
  return config;
}

std::vector<int32_t> some_integers(int64_t count, int64_t below, int64_t step) {
  std::vector<int32_t> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<int32_t>((i * step + i / 7) % below));
  return values;
}

std::vector<double> losses_of(Backend& backend, const Model& model) {
  constexpr int64_t B = 2, T = 11;
  Trainer trainer(backend, model, {.iterations = 3, .warmup = 0}, {.rows = B, .positions = T, .mask = true});
  initialize(trainer.store(), model.parameters, 5);
  const int64_t each = model.task == Task::classify ? 1 : model.task == Task::answer ? 2 : T;
  const auto ids = some_integers(B * T, 29, 5), targets = some_integers(B * each, 3, 1);
  std::vector<int32_t> mask(B * T, 1);
  mask[2 * T - 1] = mask[2 * T - 2] = 0;
  const Feed feed{{"ids", ids}, {"targets", targets}, {"mask", mask}};
  std::vector<double> losses;
  for (int64_t i = 1; i <= 3; ++i) losses.push_back(trainer.step(i, feed));
  return losses;
}

std::vector<float> logits_of(Backend& backend, const Model& model, const std::vector<int32_t>& segments) {
  auto store = make_model_store(backend, model);
  initialize(*store, model.parameters, 5);
  Graph graph;
  const Pass pass = add_inputs(graph, model, {.rows = 1, .positions = 7, .segments = !segments.empty()});
  graph.mark_output(add_logits(graph, model, pass), "logits");
  auto program = backend.compile(std::move(graph), store);
  program->write("ids", some_integers(7, 29, 5));
  if (!segments.empty()) program->write("segments", segments);
  program->run();
  return program->read("logits");
}

nlohmann::json changed(const std::string& family, const nlohmann::json& changes) {
  nlohmann::json config = {{"model_type", family}};
  if (family == "distilbert")
    config.update({{"architectures", {"DistilBertForMaskedLM"}}, {"dim", 12}, {"n_heads", 3}, {"n_layers", 1}});
  else
    config.update({{"architectures",
                    {family == "mpnet"        ? "MPNetForMaskedLM"
                     : family == "electra"    ? "ElectraForMaskedLM"
                     : family == "albert"     ? "AlbertForMaskedLM"
                     : family == "deberta-v2" ? "DebertaV2ForMaskedLM"
                     : family == "roberta"    ? "RobertaForMaskedLM"
                     : family == "nomic_bert" ? "NomicBertForMaskedLM"
                                              : "BertForMaskedLM"}},
                   {"hidden_size", 12},
                   {"num_attention_heads", 3},
                   {"num_hidden_layers", 1}});
  if (family == "deberta-v2")
    config.update({{"relative_attention", true},
                   {"position_biased_input", false},
                   {"share_att_key", true},
                   {"norm_rel_ebd", "layer_norm"},
                   {"pos_att_type", {"p2c", "c2p"}},
                   {"position_buckets", 8}});
  config.update(changes);
  return config;
}

}  // namespace

TEST_CASE("training BERT with dropout on the device follows the reference", "[bert][device][one_driver]") {
  const auto family = GENERATE(as<std::string>(), "bert", "roberta", "distilbert", "mpnet");
  const auto head = GENERATE(Head::masked, Head::sequence, Head::tokens, Head::answer);
  const Model model = make_bert(odd_config(family, head, 0.2));
  auto reference = make_reference_backend();
  auto device = make_backend("");
  const auto a = losses_of(*reference, model), b = losses_of(*device, model);
  for (size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-4 * a[i]);
  CHECK(losses_of(*reference, make_bert(odd_config(family, head, 0))) != a);
}

TEST_CASE("each dropout of BERT changes the loss", "[bert]") {
  auto backend = make_reference_backend();
  const auto family = GENERATE(as<std::string>(), "bert", "roberta", "distilbert", "mpnet", "electra", "albert",
                               "deberta-v2", "nomic_bert");
  const BertConfig config = odd_config(family, Head::sequence, 0);
  const auto plain = losses_of(*backend, make_bert(config));
  std::vector probabilities = {&BertConfig::dropout, &BertConfig::attention_dropout, &BertConfig::head_dropout};
  if (config.is_deberta()) probabilities.push_back(&BertConfig::pooler_dropout);
  for (double BertConfig::*probability : probabilities) {
    BertConfig changed = config;
    changed.*probability = 0.3;
    CHECK(losses_of(*backend, make_bert(changed)) != plain);
  }
}

TEST_CASE("absent segments count as token type 0", "[bert]") {
  auto backend = make_reference_backend();
  const Model model = make_bert(odd_config("bert", Head::tokens, 0));
  const auto absent = logits_of(*backend, model, {});
  CHECK(logits_of(*backend, model, {0, 0, 0, 0, 0, 0, 0}) == absent);
  CHECK(logits_of(*backend, model, {0, 0, 1, 1, 2, 2, 2}) != absent);
  CHECK_THROWS_AS(logits_of(*backend, make_bert(odd_config("distilbert", Head::tokens, 0)), {0, 0, 0, 0, 0, 0, 0}),
                  Error);
}

TEST_CASE("sinusoidal positions of DistilBERT are not trained, and those of a file are taken as they are", "[bert]") {
  BertConfig config = odd_config("distilbert", Head::masked, 0);
  config.sinusoidal = true;
  const Model model = make_bert(config);
  const auto positions =
      std::ranges::find(model.parameters, "distilbert.embeddings.position_embeddings.weight", &ParameterSpec::name);
  REQUIRE(positions != model.parameters.end());
  CHECK_FALSE(positions->trains());
  CHECK(positions->optional);
  const auto table = start_values(*positions, 1);
  REQUIRE(table.size() == 13 * 15);
  CHECK(table[15] == static_cast<float>(std::sin(1.0)));
  CHECK(table[16] == static_cast<float>(std::cos(1.0)));
  auto backend = make_reference_backend();
  for (float logit : logits_of(*backend, model, {})) CHECK(std::isfinite(logit));
}

TEST_CASE("distances of DeBERTa have rows of their own when near, and share them when far", "[bert]") {
  BertConfig config{.family = "deberta-v2", .buckets = 256, .farthest = 512};
  using bert::distance_row;
  // Of transformers' make_log_bucket_position.
  for (const auto& [distance, row] : std::vector<std::pair<int64_t, int64_t>>{{0, 256},
                                                                              {1, 257},
                                                                              {128, 384},
                                                                              {129, 385},
                                                                              {130, 386},
                                                                              {200, 425},
                                                                              {511, 511},
                                                                              {5000, 511},
                                                                              {-1, 255},
                                                                              {-128, 128},
                                                                              {-200, 87},
                                                                              {-511, 1},
                                                                              {-5000, 0}}) {
    INFO(distance);
    CHECK(distance_row(config, distance) == row);
  }
  config.buckets = 0;
  config.farthest = 7;
  CHECK(distance_row(config, 6) == 13);
  CHECK(distance_row(config, 9) == 13);
  CHECK(distance_row(config, -9) == 0);
}

TEST_CASE("one class alone, or several that may hold, are scores", "[bert]") {
  const auto task = [](nlohmann::json changes) {
    changes["architectures"] = {"BertForSequenceClassification"};
    const Model model = model_of(changed("bert", changes));
    CHECK(model_of(*model.config).task == model.task);
    return model.task;
  };
  CHECK(task({{"num_labels", 1}}) == Task::score);
  CHECK(task({{"num_labels", 3}, {"problem_type", "multi_label_classification"}}) == Task::score);
  CHECK(task({{"num_labels", 3}}) == Task::classify);
}

TEST_CASE("the flag for sinusoids changes nothing about a recorded DistilBERT", "[bert]") {
  auto backend = make_reference_backend();
  const auto logits = [&](bool flag) {
    nlohmann::json config = JsonObject::load(fixtures / "distilbert_cls/config.json").value();
    config["sinusoidal_pos_embds"] = flag;
    const Model model = model_of(config);
    StoreLayout layout;
    add_model(layout, model, parameter_blocks(model.parameters, backend->facts().max_allocation));
    auto store = backend->make_store(layout);
    load_parameters(*store, model.parameters, fixtures / "distilbert_cls");
    Graph graph;
    graph.mark_output(add_logits(graph, model, add_inputs(graph, model, {.rows = 1, .positions = 7})), "logits");
    auto program = backend->compile(std::move(graph), store);
    program->write("ids", some_integers(7, 29, 5));
    program->run();
    return program->read("logits");
  };
  CHECK(logits(true) == logits(false));
}

TEST_CASE("the bias of an untied masked head has two names", "[bert]") {
  BertConfig config = odd_config("roberta", Head::masked, 0);
  using Names = std::vector<std::string>;
  const auto last = [](const BertConfig& c) { return make_bert(c).parameters.back(); };
  CHECK(last(config).name == "lm_head.bias");
  CHECK(last(config).other_names == Names{"lm_head.decoder.bias"});
  config.tied = false;
  CHECK(last(config).name == "lm_head.decoder.bias");
  CHECK(last(config).other_names == Names{"lm_head.bias"});
}

TEST_CASE("older files of Nomic's BERT say the same in other keys", "[bert]") {
  const nlohmann::json older = {{"model_type", "nomic_bert"},
                                {"architectures", {"NomicBertModel"}},
                                {"activation_function", "swiglu"},
                                {"n_embd", 12},
                                {"n_head", 3},
                                {"n_layer", 1},
                                {"n_inner", 200},
                                {"n_positions", 64},
                                {"max_trained_positions", 16},
                                {"layer_norm_epsilon", 1e-6},
                                {"resid_pdrop", 0.1},
                                {"attn_pdrop", 0.2},
                                {"rotary_emb_base", 500},
                                {"rotary_emb_fraction", 1.0},
                                {"rotary_scaling_factor", nullptr},
                                {"type_vocab_size", 2},
                                {"vocab_size", 31},
                                {"prenorm", false},
                                {"causal", false}};
  const nlohmann::json newer = {{"model_type", "nomic_bert"},
                                {"architectures", {"NomicBertModel"}},
                                {"hidden_size", 12},
                                {"num_attention_heads", 3},
                                {"num_hidden_layers", 1},
                                {"intermediate_size", 256},
                                {"max_position_embeddings", 64},
                                {"layer_norm_eps", 1e-6},
                                {"hidden_dropout_prob", 0.1},
                                {"attention_probs_dropout_prob", 0.2},
                                {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 500.0}}},
                                {"vocab_size", 31}};
  nlohmann::json read = *model_of(older).config;
  const Model model = model_of(newer);
  for (const auto& [key, value] : model.config->items()) {
    INFO(key);
    CHECK(read.value(key, nlohmann::json()) == value);
  }
  read["hidden_dropout_prob"] = 0.3;  // of what is written the newer keys count
  CHECK(model_of(read).config->at("hidden_dropout_prob") == 0.3);
  const auto with = [&](const nlohmann::json& changes) {
    nlohmann::json config = older;
    config.update(changes);
    return config;
  };
  CHECK(model_of(with({{"rotary_scaling_factor", 2}})).context == 16);
  for (const char* key : {"causal", "prenorm", "parallel_block", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias",
                          "use_rms_norm", "rotary_emb_interleaved"})
    check_refused(with({{key, true}}), fmt::format("{} is not supported", key));
  check_refused(with({{"activation_function", "gelu"}}), "activation_function 'gelu' is not supported; swiglu is");
  check_refused(with({{"rotary_emb_fraction", 0.5}}), "rotary_emb_fraction must be 1");
  check_refused(with({{"num_experts", 8}}), "a mixture of experts");
  check_refused(with({{"moe_every_n_layers", 2}}), "a mixture of experts");
  CHECK(model_of(with({{"num_experts", 8}, {"moe_every_n_layers", 0}})).layers == 1);
  CHECK(model_of(with({{"n_inner", nullptr}})).config->at("intermediate_size") == 256);
  CHECK(model_of(with({{"rotary_scaling_factor", 0}})).context == 64);
  check_refused(with({{"rotary_scaling_factor", "x"}}), "rotary_scaling_factor");
  check_refused(with({{"n_embd", 13}}), "n_embd 13 is not a multiple of n_head 3");
}

TEST_CASE("the first of Nomic's BERTs has BERT's name in front of its tensors, and no biases in its head", "[bert]") {
  nlohmann::json config = changed("nomic_bert", {{"architectures", {"NomicBertForPreTraining"}}});
  CHECK(model_of(config).task == Task::masked);
  CHECK(model_of(config).config->at("architectures") == nlohmann::json{"NomicBertForMaskedLM"});
  for (const ParameterSpec& parameter : model_of(config).parameters)
    CHECK(parameter.optional ==
          (parameter.name == "cls.predictions.bias" || parameter.name == "cls.predictions.transform.dense.bias"));
  for (const ParameterSpec& parameter : make_bert(odd_config("nomic_bert", Head::masked, 0)).parameters)
    if (parameter.name.starts_with("nomic_bert."))
      CHECK(std::ranges::count(parameter.other_names, parameter.name.substr(6)) == 1);
}

TEST_CASE("wrong BERT configs name the file and the key", "[bert]") {
  const auto says = [](const std::string& family, const nlohmann::json& changes, const std::string& word) {
    check_refused(changed(family, changes), word);
  };
  says("bert", {{"architectures", {"BertForQuestionAnswering"}}, {"num_labels", 3}}, "start and their end");
  const nlohmann::json classifier = {{"architectures", {"BertForSequenceClassification"}}};
  const auto classify = [&](nlohmann::json changes) {
    changes.update(classifier);
    return changes;
  };
  for (const char* family :
       {"bert", "roberta", "distilbert", "mpnet", "electra", "albert", "deberta-v2", "nomic_bert"}) {
    CHECK(message_of(changed(family, nlohmann::json::object())) == "accepted");
    says(family, {{"architectures", nullptr}}, "architectures");
    says(family, {{"architectures", {"BertForNextSentencePrediction"}}}, "BertForNextSentencePrediction");
    says(family, {{"architectures", {"T5ForConditionalGeneration"}}}, "MaskedLM");
    says(family, {{"vocab_size", 0}}, "vocab_size");
    says(family, {{"vocab_size", int64_t{1} << 40}}, "vocab_size");
    says(family, {{"max_position_embeddings", -1}}, "max_position_embeddings");
    says(family, {{"initializer_range", "wide"}}, "initializer_range");
  }
  says("bert", {{"hidden_size", 13}}, "num_attention_heads");
  says("bert", {{"hidden_size", 2048}, {"num_attention_heads", 1}}, "256");
  says("bert", {{"num_hidden_layers", 0}}, "num_hidden_layers");
  says("bert", {{"type_vocab_size", 0}}, "type_vocab_size");
  says("bert", {{"hidden_act", "mish"}}, "mish");
  says("bert", {{"layer_norm_eps", -1}}, "layer_norm_eps");
  says("bert", {{"hidden_dropout_prob", 1.5}}, "hidden_dropout_prob");
  says("bert", {{"is_decoder", true}}, "is_decoder");
  says("bert", {{"add_cross_attention", true}}, "add_cross_attention");
  says("bert", {{"chunk_size_feed_forward", 4}}, "chunk_size_feed_forward");
  says("bert", {{"position_embedding_type", "relative_key"}}, "relative_key");
  says("bert", classify({{"id2label", nlohmann::json::object()}}), "id2label");
  says("bert", classify({{"id2label", {{"0", "no"}, {"2", "yes"}}}}), "id2label");
  says("bert", classify({{"problem_type", "regression"}}), "problem_type");
  says("roberta", {{"max_position_embeddings", 2}}, "pad_token_id");
  says("roberta", {{"pad_token_id", -1}}, "pad_token_id");
  says("mpnet", {{"pad_token_id", 0}}, "the id of padding is 0");
  says("mpnet", {{"relative_attention_num_buckets", 16}}, "relative_attention_num_buckets");
  says("electra", {{"embedding_size", 0}}, "embedding_size");
  says("electra", {{"architectures", {"ElectraForPreTraining"}}}, "ElectraForPreTraining");
  says("albert", {{"num_hidden_groups", 2}}, "num_hidden_groups");
  says("albert", {{"inner_group_num", 2}}, "inner_group_num");
  for (const char* key : {"relative_attention", "position_biased_input", "share_att_key", "legacy"}) {
    const bool other = key == std::string("position_biased_input");
    says("deberta-v2", {{key, other}}, fmt::format("{} must be {}", key, !other));
  }
  says("deberta-v2", {{"pos_att_type", "c2p"}}, "pos_att_type must have c2p and p2c");
  says("deberta-v2", {{"norm_rel_ebd", "none"}}, "norm_rel_ebd 'none'");
  says("deberta-v2", {{"conv_kernel_size", 3}}, "conv_kernel_size 3 is not supported; 0 is");
  says("deberta-v2", {{"attention_head_size", 5}}, "attention_head_size 5 is not supported; 4 is");
  says("deberta-v2", {{"embedding_size", 5}}, "embedding_size 5 is not supported; 12 is");
  says("deberta-v2", {{"type_vocab_size", 2}}, "type_vocab_size 2 is not supported; 0 is");
  says("deberta-v2", {{"position_buckets", 1}}, "position_buckets 1 must be 2 or more");
  says("deberta-v2", {{"max_relative_positions", 5}}, "half of it less than max_relative_positions 5 - 1");
  says("nomic_bert", {{"hidden_size", 15}}, "heads of an odd width 5 have no pairs that positions turn");
  says("nomic_bert", {{"hidden_act", "tanh"}}, "tanh");
  says("nomic_bert", {{"architectures", {"NomicBertForQuestionAnswering"}}}, "NomicBertForTokenClassification");
  says("nomic_bert", {{"head_dim", 6}}, "head_dim 6 is not supported; 4, the width / heads, is");
  says("distilbert", {{"dim", 13}}, "n_heads");
  says("distilbert", {{"activation", "mish"}}, "mish");
  says("distilbert", {{"attention_dropout", 2}}, "attention_dropout");
}

TEST_CASE("the BERT config that is written describes the model that was read", "[bert]") {
  for (const char* family : {"bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "electra", "albert",
                             "deberta-v2", "nomic_bert"})
    for (const Head head : {Head::masked, Head::sequence, Head::tokens, Head::answer, Head::none}) {
      if (family == std::string("nomic_bert") && head == Head::answer) continue;
      BertConfig config = odd_config(family, head, 0.25);
      config.tied = head != Head::masked;
      const Model model = make_bert(config);
      const Model again = make_model(JsonObject::parse(model.config->dump(), "config.json"));
      CHECK(*again.config == *model.config);
      CHECK(again.parameter_count() == model.parameter_count());
      CHECK(again.context == model.context);
      CHECK(again.task == model.task);
    }
}
