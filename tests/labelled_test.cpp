// Classifiers: files of labelled rows, their batches, what a model makes of them, and what it must beat.

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/classification/classifier.h"
#include "models/classification/entailment.h"
#include "models/data/labelled_rows.h"
#include "models/data/text_data.h"
#include "models/parameters.h"
#include "models/score/label_baselines.h"
#include "models/text/tokenizer.h"
#include "models/training/training_batch.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Names = std::vector<std::string>;

std::string refusal_of(const std::string& name, const std::string& content) {
  return error_of([&] { read_labelled_rows(content, name); });
}

const Tokenizer& word_pieces() {
  static const Tokenizer tokenizer = Tokenizer::load(fixtures / "tokenizers/bert/tokenizer.json");
  return tokenizer;
}

TokenTexts texts_of(const std::vector<std::pair<std::string, std::string>>& pairs, int64_t most) {
  TokenTexts texts;
  for (const auto& [first, second] : pairs)
    texts.add(word_pieces(), first, second.empty() ? std::nullopt : std::optional<std::string_view>(second), most,
              "here");
  return texts;
}

std::vector<int32_t> values_of(const DataBatch& batch, std::string_view name) {
  for (const auto& [own, values] : batch.inputs)
    if (own == name) return values;
  return {};
}

}  // namespace

TEST_CASE("labelled rows are read from JSON lines, CSV and TSV", "[labels]") {
  const auto [name, content] = GENERATE(
      std::pair("x.jsonl",
                "{\"text\": \"one, \\\"two\\\"\", \"label\": \"b\"}\n\n{\"label\": 7, \"text\": \"\", \"id\": 3}\n"),
      std::pair("x.csv", "\xEF\xBB\xBFid,label,text\r\n1,b,\"one, \"\"two\"\"\"\r\n\r\n2,\"7\",\r\n"),
      std::pair("x.tsv", "text\tlabel\none, \"two\"\tb\n\n\t7\n"));
  const LabelledRows rows = read_labelled_rows(content, name);
  REQUIRE(rows.rows.size() == 2);
  CHECK_FALSE(rows.pairs);
  CHECK(rows.rows[0].first == "one, \"two\"");
  CHECK(rows.rows[0].label == "b");
  CHECK(rows.rows[1].first.empty());
  CHECK(rows.rows[1].label == "7");
  CHECK(rows.rows[1].line == (std::string_view(name) == "x.jsonl" ? 3 : 4));
}

TEST_CASE("labelled rows may have two texts, and fields of several lines", "[labels]") {
  const LabelledRows rows =
      read_labelled_rows("sentence1,sentence2,label\n\"a\n\nb\",c,10\nd,\"e,\",9\n", "dir/pairs.csv");
  REQUIRE(rows.rows.size() == 2);
  CHECK(rows.pairs);
  CHECK(rows.rows[0].first == "a\n\nb");
  CHECK(rows.rows[1].second == "e,");
  CHECK(rows.rows[1].line == 5);
  CHECK(label_names(rows) == Names{"9", "10"});  // integers by value
  CHECK(classes_of_rows(rows, {"9", "10"}) == std::vector<int32_t>{1, 0});
}

TEST_CASE("labels are sorted by their bytes unless all are integers", "[labels]") {
  CHECK(label_names(read_labelled_rows("text\tlabel\na\t9\nb\t10\nc\tx\nd\t9\n", "x.tsv")) == Names{"10", "9", "x"});
  CHECK_THAT(error_of([] { label_names(read_labelled_rows("text\tlabel\na\t9\nb\t9\n", "x.tsv")); }),
             ContainsSubstring("all rows have the label \"9\""));
}

TEST_CASE("files that are no labelled rows are refused by file and line", "[labels]") {
  CHECK_THAT(refusal_of("x.txt", "a"), ContainsSubstring("x.txt: its name does not say"));
  CHECK_THAT(refusal_of("x.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n"),
             ContainsSubstring("x.jsonl:2: \"label\" is missing"));
  CHECK_THAT(refusal_of("x.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"label\": 1}\n"),
             ContainsSubstring("x.jsonl:2: \"text\" is missing"));
  CHECK_THAT(refusal_of("x.jsonl", "{\"text\": \"a\", \"label\": true}\n"),
             ContainsSubstring("x.jsonl:1: \"label\" must"));
  CHECK_THAT(refusal_of("x.jsonl", "{\"text\": \"a\", \"label\": \"\"}\n"),
             ContainsSubstring("x.jsonl:1: the label is empty"));
  CHECK_THAT(refusal_of("x.jsonl", "\n{\"text\": \"a\", \"label\": \"b\\nc\"}\n"),
             ContainsSubstring("x.jsonl:2: the label \"b\\nc\" has a tab, a line end"));
  CHECK_THAT(refusal_of("x.csv", "text,label\na, b\n"), ContainsSubstring("x.csv:2: the label \" b\" has"));
  CHECK_THAT(refusal_of("x.jsonl", "{\"txt\": \"a\", \"label\": 1}\n"),
             ContainsSubstring("x.jsonl:1: none of \"text\""));
  CHECK_THAT(refusal_of("x.jsonl", "{\"text\": \"a\", \"label\": 1}\n{\"text\": \n"),
             ContainsSubstring("x.jsonl:2: not valid JSON"));
  CHECK_THAT(refusal_of("x.jsonl", "\n \n"), ContainsSubstring("x.jsonl has no rows"));
  CHECK_THAT(refusal_of("x.csv", "text,label\na\xff,b\n"), ContainsSubstring("x.csv:2: not UTF-8"));
  CHECK_THAT(refusal_of("x.csv", "text,label\n"), ContainsSubstring("x.csv has no rows"));
  CHECK_THAT(refusal_of("x.csv", "text,class\na,b\n"), ContainsSubstring("x.csv:1: no column is called \"label\""));
  CHECK_THAT(refusal_of("x.csv", "text;label\na;b\n"),
             ContainsSubstring("between commas in a .csv, tabs in a .tsv) and has \"text;label\""));
  CHECK_THAT(refusal_of("x.jsonl", "[\n  {\"text\": \"a\", \"label\": \"b\"}\n]\n"),
             ContainsSubstring("x.jsonl:1: a list begins here"));
  CHECK_THAT(refusal_of("x.csv", "label,text,label\na,b,c\n"), ContainsSubstring("two columns are called \"label\""));
  CHECK_THAT(refusal_of("x.csv", "text,label\na,b\na,b,c\n"), ContainsSubstring("x.csv:3: 3 fields"));
  CHECK_THAT(refusal_of("x.csv", "text,label\na\"c,b\n"), ContainsSubstring("x.csv:2: a quote within a field"));
  CHECK_THAT(refusal_of("x.csv", "text,label\n\"a\"c,b\n"), ContainsSubstring("x.csv:2: text behind a closing quote"));
  CHECK_THAT(refusal_of("x.csv", "text,label\nd,e\n\"a,b\nf,g\n"),
             ContainsSubstring("x.csv:3: the quote is never closed"));
  CHECK_THAT(refusal_of("x.tsv", "text\tlabel\na\t\n"), ContainsSubstring("x.tsv:2: the label is empty"));
  const LabelledRows rows = read_labelled_rows("text\tlabel\na\tb\nc\td\n", "x.tsv");
  CHECK_THAT(error_of([&] {
               classes_of_rows(rows, {"a", "b"});
             }),
             ContainsSubstring("x.tsv:3: no training row has the label \"d\"; they have a, b"));
}

TEST_CASE("texts are cut at their ends, special tokens stay", "[labels]") {
  const Encoding whole = word_pieces().encode("the cat on the mat");
  REQUIRE(whole.ids.size() > 5);
  const Tokenizer::Cut cut = word_pieces().encode_within(5, "the cat on the mat");
  CHECK(cut.was_longer);
  std::vector<int32_t> expected(whole.ids.begin(), whole.ids.begin() + 4);
  expected.push_back(whole.ids.back());
  CHECK(cut.encoding.ids == expected);
  CHECK(cut.encoding.type_ids.size() == 5);
  const auto all = static_cast<int64_t>(whole.ids.size());
  CHECK_FALSE(word_pieces().encode_within(all, "the cat on the mat").was_longer);
  // Of a pair the longer text first, then the second.
  CHECK(word_pieces().encode_within(6, "the the the the", "in").encoding.ids ==
        word_pieces().encode_pair("the the", "in").ids);
  CHECK(word_pieces().encode_within(6, "the the", "in in in").encoding.ids ==
        word_pieces().encode_pair("the the", "in").ids);
  CHECK_THAT(error_of([] { word_pieces().encode_within(2, "a", "b"); }), ContainsSubstring("special tokens"));
}

TEST_CASE("batches of labelled texts have a class a row", "[labels]") {
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"the", "in"}, {"the in to the", "to to"}, {"to", "the"}};
  const TokenTexts texts = texts_of(pairs, 8);
  CHECK(texts.cut == 1);
  REQUIRE(texts.largest_segment() == 1);
  const TextData data({texts, {{4}, {5}, {6}}}, {texts, {{0}, {1}, {2}}},
                      {.batches = {.positions = 16, .most_rows = 2, .most_shapes = 1},
                       .inputs = {.padding = 9, .padding_in_front = GENERATE(false, true), .segments = true}});
  REQUIRE(data.validation_batches() == 2);
  const DataBatch first = data.validation_batch(0, 2), last = data.validation_batch(1, 2);
  CHECK(first.shape == BatchShape{.rows = 2, .positions = 8, .mask = true, .segments = true});
  CHECK(values_of(first, "targets") == std::vector<int32_t>{0, 1});
  CHECK(values_of(last, "targets") == std::vector<int32_t>{2, ignored_target});
  CHECK(first.tokens == 5 + 8);
  // Both ends of the first text, wherever its padding is.
  const auto ids = values_of(first, "ids"), mask = values_of(first, "mask"), segments = values_of(first, "segments");
  const auto begin = static_cast<size_t>(std::ranges::find(mask, 1) - mask.begin());
  CHECK(begin == (ids[0] == 9 ? 3 : 0));
  const std::vector<int32_t> own(ids.begin() + static_cast<int64_t>(begin),
                                 ids.begin() + static_cast<int64_t>(begin) + 5);
  CHECK(own == texts.ids[0]);
  CHECK(segments[begin + 2] == 0);
  CHECK(segments[begin + 3] == 1);
  CHECK(std::ranges::count(ids, 9) == 3);
  CHECK(std::ranges::count(mask, 0) == 3);
  CHECK(std::ranges::count(values_of(last, "mask"), 1) == 5);
}

TEST_CASE("what a classifier makes of a text does not depend on its batch", "[labels]") {
  const std::string folder = GENERATE("bert_cls", "roberta_cls", "distilbert_cls", "mpnet_cls", "electra_cls",
                                      "nomic_cls", "deberta_cls", "modernbert_cls", "xlnet_cls");
  const Model model = load_model(fixtures / folder);
  auto backend = make_reference_backend();
  const auto store = make_model_store(*backend, model);
  load_parameters(*store, model.parameters, fixtures / folder);
  Classifier classifier(*backend, model, store, backend->make_workspace());

  TokenTexts texts;
  for (int64_t length : {7, 2, 11, 5}) {
    texts.ids.push_back(some_ids(length, model.vocabulary - 10, length));
    for (int32_t& id : texts.ids.back()) id += 9;  // none is padding
    texts.segments.emplace_back(static_cast<size_t>(length), 0);
    texts.segments.back().back() = 1;
  }
  const TextInputs inputs = text_inputs(model, texts.largest_segment());
  CHECK(inputs.padding_in_front == (folder == "xlnet_cls"));
  CHECK(inputs.segments ==
        (folder == "bert_cls" || folder == "electra_cls" || folder == "nomic_cls" || folder == "xlnet_cls"));
  std::vector<std::vector<double>> together(4);
  int64_t given = 0;
  classify_by_length(classifier, texts, inputs, 30, [&](size_t text, std::span<const float> logits) {
    together[text] = classifier.probabilities_of(logits);
    ++given;
  });
  CHECK(given == 4);
  // Pieces of shapes that are theirs together: nothing more is recorded.
  const LengthBatches shapes = shapes_by_length(texts.lengths(), 30);
  const size_t recorded = classifier.logits().programs().size();
  for (size_t i = 0; i < 4; ++i) {
    TextInputs piece = inputs;
    piece.shapes = &shapes;
    classify_by_length(
        classifier, {.ids = {texts.ids[i]}, .segments = {texts.segments[i]}}, piece, 30,
        [&](size_t, std::span<const float> logits) { CHECK(classifier.probabilities_of(logits) == together[i]); });
  }
  CHECK(classifier.logits().programs().size() == recorded);
  for (uint32_t i = 0; i < 4; ++i) {
    const BatchShape alone{.rows = 1, .positions = std::ssize(texts.ids[i]), .mask = true, .segments = inputs.segments};
    const uint32_t example[] = {i};
    const auto expected = classifier.probabilities(text_batch(alone, texts, example, inputs)).front();
    REQUIRE(together[i].size() == expected.size());
    double sum = 0;
    for (size_t c = 0; c < expected.size(); ++c) {
      CHECK(together[i][c] == Catch::Approx(expected[c]).epsilon(1e-5));
      sum += expected[c];
    }
    CHECK(sum == Catch::Approx(1));
  }
  CHECK(together[0][0] != Catch::Approx(together[2][0]).epsilon(1e-5));
}

TEST_CASE("candidates are as likely as a text entails them", "[labels]") {
  using Names = std::vector<std::string>;
  const auto of = [](const Names& names) { return EntailmentClasses::of(names, "m"); };
  const EntailmentClasses mnli = of({"contradiction", "neutral", "ENTAILMENT"}),
                          first = of({"entailment", "neutral", "other"});
  CHECK(mnli.entailment == 2);
  CHECK(mnli.contradiction == 0);
  CHECK(first.entailment == 0);
  CHECK(first.contradiction == 2);
  CHECK_THAT(error_of([&] {
               of({"LABEL_0", "entities"});
             }),
             ContainsSubstring("m does not tell what a text entails: its classes are LABEL_0, entities"));
  const std::vector<std::vector<float>> logits = {{1, 7, 2}, {3, 0, 0}};
  const auto one = candidate_shares(logits, mnli, false), each = candidate_shares(logits, mnli, true);
  CHECK(one[0] == Catch::Approx(1 / (1 + std::exp(-2.0))));
  CHECK(one[0] + one[1] == Catch::Approx(1));
  CHECK(each[0] == Catch::Approx(1 / (1 + std::exp(-1.0))));
  CHECK(each[1] == Catch::Approx(1 / (1 + std::exp(3.0))));
  CHECK(candidate_shares(std::span(logits).last(1), mnli, false)[0] == each[1]);
}

TEST_CASE("where several labels may hold, each has a probability of its own", "[labels]") {
  auto backend = make_reference_backend();
  const auto probabilities = [&](const char* problem) {
    nlohmann::json config = JsonObject::load(fixtures / "bert_cls/config.json").value();
    config["problem_type"] = problem;
    const Model model = model_of(config);
    StoreLayout layout;
    add_model(layout, model, parameter_blocks(model.parameters, backend->facts().max_allocation));
    const auto store = backend->make_store(layout);
    load_parameters(*store, model.parameters, fixtures / "bert_cls");
    TokenTexts texts;
    texts.ids.push_back(some_ids(7, model.vocabulary - 10, 3));
    texts.segments.emplace_back(7, 0);
    const BatchShape shape{.rows = 1, .positions = 7, .mask = true};
    const uint32_t example[] = {0};
    return Classifier(*backend, model, store, backend->make_workspace())
        .probabilities(text_batch(shape, texts, example, {}))
        .front();
  };
  const auto one = probabilities("single_label_classification"), several = probabilities("multi_label_classification");
  REQUIRE(one.size() == several.size());
  std::vector<double> odds;  // exp(logit)
  for (const double probability : several) odds.push_back(probability / (1 - probability));
  const double sum = std::accumulate(odds.begin(), odds.end(), 0.0);
  for (size_t i = 0; i < one.size(); ++i) CHECK(odds[i] / sum == Catch::Approx(one[i]).epsilon(1e-6));
}

TEST_CASE("token types that a model lacks are refused or left out", "[labels]") {
  CHECK_FALSE(text_inputs(Model{.family = "bert", .segments = 1}, 1).segments);
  CHECK_FALSE(text_inputs(Model{.family = "bert", .segments = 2}, 0).segments);
  CHECK(text_inputs(Model{.family = "bert", .segments = 2}, 1).segments);
  CHECK_THAT(error_of([] { text_inputs(Model{.family = "bert", .segments = 2}, 2); }),
             ContainsSubstring("token type 2"));
}

TEST_CASE("baselines of classifiers", "[labels]") {
  CHECK(majority_accuracy(std::vector<int32_t>{2, 1, 1, 0}, std::vector<int32_t>{1, 2, 1, 1}) == 0.75);
  const ClassedTexts training{{"Good good film", "bad film", "so bad, a film", "a film"}, {0, 1, 1, 1}};
  // "good": 1/4 * 3/8 for the first class, 3/4 * 1/13 for the second; "good bad": 1/4 * 3/8 * 1/8, 3/4 * 1/13 * 3/13.
  const ClassedTexts valid{{"GOOD!", "bad", "unheard of", "good bad"}, {0, 1, 1, 0}};
  CHECK(naive_bayes_accuracy(training, valid) == 0.75);
}
