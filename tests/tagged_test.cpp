// Taggers: files of tagged words, their sub-words and batches, what a model makes of them, and how that is scored.

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/classification/tagger.h"
#include "models/data/tagged_texts.h"
#include "models/data/text_data.h"
#include "models/data/word_windows.h"
#include "models/parameters.h"
#include "models/score/tags.h"
#include "models/text/tokenizer.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

using Strings = std::vector<std::string>;

std::string refusal_of_tags(const std::string& name, const std::string& content) {
  return error_of([&] { read_tagged_texts(content, name); });
}

const Tokenizer& tag_tokenizer(const std::string& kind = "bert") {
  static std::map<std::string, Tokenizer> tokenizers;
  const auto found = tokenizers.find(kind);
  if (found != tokenizers.end()) return found->second;
  return tokenizers.emplace(kind, Tokenizer::load(fixtures / "tokenizers" / kind / "tokenizer.json")).first->second;
}

WordWindows windows_of(const std::vector<Strings>& texts, int64_t most, const std::string& kind = "bert") {
  WordWindows windows;
  for (const Strings& words : texts) windows.add(tag_tokenizer(kind), words, most, "here");
  return windows;
}

TagScores scores_of(const Strings& references, const Strings& hypotheses) {
  TagScores scores;
  scores.add(references, hypotheses);
  return scores;
}

}  // namespace

TEST_CASE("tagged words are read from columns and JSON lines", "[tags]") {
  const auto [name, content] = GENERATE(
      std::pair("x.conll",
                "-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\nrejects VBZ I-VP O\n\n \nPeter NNP\tB-NP B-PER\r\n"),
      std::pair("x.txt", "-DOCSTART-\nEU B-ORG\nrejects O\n-DOCSTART- -X- O\n\n\n\nPeter B-PER"),
      std::pair("x.jsonl",
                "\n\n{\"tokens\": [\"EU\", \"rejects\"], \"tags\": [\"B-ORG\", \"O\"]}\n{\"words\": [], \"labels\": "
                "[]}\n\n\n{\"words\": [\"Peter\"], \"ner_tags\": [\"B-PER\"], \"id\": 1}\n"));
  const TaggedTexts texts = read_tagged_texts(content, name);
  REQUIRE(texts.texts.size() == 2);
  CHECK(texts.texts[0].words == Strings{"EU", "rejects"});
  CHECK(texts.texts[0].tags == Strings{"B-ORG", "O"});
  CHECK(texts.texts[1].words == Strings{"Peter"});
  CHECK(texts.texts[1].tags == Strings{"B-PER"});
  CHECK(texts.texts[1].lines == std::vector<size_t>{std::string_view(name) == "x.txt" ? 8u : 7u});
  CHECK(tag_names(texts) == Strings{"O", "B-ORG", "B-PER"});
  CHECK(classes_of_words(texts, {"O", "B-PER", "B-ORG"}) == std::vector<std::vector<int32_t>>{{2, 0}, {1}});
}

TEST_CASE("files that are no tagged words are refused by file and line", "[tags]") {
  CHECK_THAT(refusal_of_tags("x.csv", "a O\n"), ContainsSubstring("x.csv: its name does not say"));
  CHECK_THAT(refusal_of_tags("x.conll", "a O\n\nalone\n"),
             ContainsSubstring("x.conll:3: the word \"alone\" has no tag"));
  CHECK_THAT(refusal_of_tags("x.conll", "a O\n\nNew York B-LOC\n"), ContainsSubstring("x.conll:3: 3 columns, but"));
  CHECK_THAT(refusal_of_tags("x.tsv", "\n-DOCSTART- O\n"), ContainsSubstring("x.tsv has no words"));
  CHECK_THAT(refusal_of_tags("x.txt", "a O\nb\xff O\n"), ContainsSubstring("x.txt:2: not UTF-8"));
  const auto json = [](const std::string& line) { return refusal_of_tags("x.jsonl", "\n" + line + "\n"); };
  CHECK_THAT(json("{\"tags\": [\"O\"]}"), ContainsSubstring("x.jsonl:2: \"tokens\" is missing"));
  CHECK_THAT(json("{\"tokens\": [\"a\"]}"), ContainsSubstring("x.jsonl:2: \"tags\" is missing"));
  CHECK_THAT(json("{\"tokens\": \"a\", \"tags\": [\"O\"]}"), ContainsSubstring("\"tokens\" must be an array"));
  CHECK_THAT(json("{\"tokens\": [\"a\"], \"ner_tags\": [3]}"), ContainsSubstring("\"ner_tags\" must hold strings"));
  CHECK_THAT(json("{\"tokens\": [\"\"], \"tags\": [\"O\"]}"), ContainsSubstring("not empty"));
  CHECK_THAT(json("{\"tokens\": [\"a\"], \"tags\": [\"B LOC\"]}"), ContainsSubstring("the tag \"B LOC\" has a blank"));
  CHECK_THAT(json("{\"tokens\": [\"a\", \"b\"], \"tags\": [\"O\"]}"), ContainsSubstring("2 words have 1 tags"));
  const TaggedTexts texts = read_tagged_texts("a O\nb O\n", "x.txt");
  CHECK_THAT(error_of([&] { tag_names(texts); }), ContainsSubstring("all words have the tag \"O\""));
  CHECK_THAT(error_of([&] {
               classes_of_words(read_tagged_texts("a O\n\nb B-X\n", "x.txt"), {"O", "B-Y"});
             }),
             ContainsSubstring("x.txt:3: no training word has the tag \"B-X\"; they have O, B-Y"));
}

TEST_CASE("words are encoded each as behind a blank", "[tags]") {
  const std::string kind = GENERATE("bert", "gpt2", "t5");
  const WordWindows windows = windows_of({{"the", "unheard-of", "the"}}, 64, kind);
  REQUIRE(windows.windows.size() == 1);
  const Tokenizer& tokenizer = tag_tokenizer(kind);
  CHECK(windows.texts.ids[0] == tokenizer.encode(kind == "gpt2" ? " the unheard-of the" : "the unheard-of the").ids);
  const std::vector<int32_t>& positions = windows.windows[0].positions;
  REQUIRE(positions.size() == 3);
  CHECK(positions[0] == (kind == "bert" ? 1 : 0));  // behind [CLS]
  CHECK(positions[2] == std::ssize(windows.texts.ids[0]) - (kind == "gpt2" ? 1 : 2));
  CHECK(positions[1] == positions[0] + 1);
  CHECK(windows.split == 0);
}

TEST_CASE("a word that the tokenizer drops is unknown", "[tags]") {
  const WordWindows windows = windows_of({{"the", "\xE2\x80\x8B", "the"}}, 64);
  CHECK(windows.windows.at(0).positions == std::vector<int32_t>{1, 2, 3});
  CHECK(windows.texts.ids[0][2] == tag_tokenizer().id_of("[UNK]"));
}

TEST_CASE("words beyond a window are in the next one", "[tags]") {
  const Strings words(7, "the");
  const WordWindows windows = windows_of({words, {}, {"the", "the"}}, 5);  // room for three
  REQUIRE(windows.windows.size() == 4);
  CHECK(windows.text_count == 3);
  CHECK(windows.split == 1);
  CHECK(windows.windows[1].first_word == 3);
  CHECK(windows.windows[2].positions == std::vector<int32_t>{1});
  CHECK(windows.windows[3].text == 2);
  CHECK(windows.texts.ids[1].size() == 5);
  // Of a word with too many sub-words its first ones are left.
  const WordWindows long_word = windows_of({{"the", "zqzqzqzqzq", "the"}}, 5);
  REQUIRE(long_word.windows.size() == 3);
  CHECK(long_word.texts.ids[1].size() == 5);
  CHECK(long_word.windows[1].positions == std::vector<int32_t>{1});
  CHECK_THAT(error_of([&] { windows_of({words}, 2); }), ContainsSubstring("special tokens"));
}

TEST_CASE("batches of tagged words have a target at each word's first sub-word", "[tags]") {
  const WordWindows windows = windows_of({{"the", "unheard-of"}, {"the", "the", "the", "the"}}, 5);
  const TextData::Split split{windows.texts, windows.targets({{1, 2}, {3, 4, 5, 6}})};
  REQUIRE(tag_tokenizer().encode("unheard-of", false).ids.size() >= 2);
  const TextData data(split, split, {.batches = {.positions = 64, .most_shapes = 1}, .inputs = {}, .targets = 0});
  REQUIRE(data.validation_batches() == 1);
  const DataBatch batch = data.validation_batch(0, 1);
  REQUIRE(batch.shape.positions == 5);
  constexpr int32_t no = ignored_target;
  // "unheard-of" does not fit beside "the".
  const std::vector<int32_t> expected{no, 1, no, no, no, no, 2, no, no, no, no, 3, 4, 5, no, no, 6, no, no, no};
  CHECK(batch.inputs.back().first == "targets");
  CHECK(batch.inputs.back().second == expected);
}

TEST_CASE("what a tagger makes of a word does not depend on its batch", "[tags]") {
  const std::string folder = GENERATE("bert_tokens", "roberta_tokens");
  const Model model = load_model(fixtures / folder);
  auto backend = make_reference_backend();
  const auto store = make_model_store(*backend, model);
  load_parameters(*store, model.parameters, fixtures / folder);
  Tagger tagger(*backend, model, store, backend->make_workspace());
  WordWindows windows;
  for (size_t i = 0; i < 4; ++i) {
    const int64_t length = std::array{7, 2, 11, 5}[i];
    std::vector<int32_t> ids = some_ids(length, model.vocabulary - 10, length);
    for (int32_t& id : ids) id += 9;  // none is padding
    windows.texts.ids.push_back(ids);
    windows.texts.segments.emplace_back(ids.size(), 0);
    // The first two are windows of one text.
    windows.windows.push_back({.text = i == 0 ? 0 : i - 1, .first_word = i == 1 ? 2u : 0u, .positions = {1, 0}});
  }
  windows.windows[0].positions = {2, 5};
  windows.text_count = 3;
  const auto together = tag_words(tagger, windows, {}, 24, [](size_t) {});
  REQUIRE(together.size() == 3);
  REQUIRE(together[0].size() == 4);
  for (uint32_t i = 0; i < 4; ++i) {
    const BatchShape alone{.rows = 1, .positions = std::ssize(windows.texts.ids[i]), .mask = true};
    const uint32_t example[] = {i};
    const auto expected =
        tagger.tags(text_batch(alone, windows.texts, example, {}), {&windows.windows[i].positions, 1});
    REQUIRE(expected.at(0).size() == 2);
    for (size_t word = 0; word < 2; ++word) {
      const WordTag& tag = together[windows.windows[i].text][windows.windows[i].first_word + word];
      CHECK(tag.tag == expected[0][word].tag);
      CHECK(tag.probability == Catch::Approx(expected[0][word].probability).epsilon(1e-5));
    }
  }
  CHECK_THAT(error_of([&] { Tagger(*backend, load_model(fixtures / "bert_mlm"), store, nullptr); }),
             ContainsSubstring("gives no tags"));
}

TEST_CASE("entities begin and end as conlleval has them", "[tags]") {
  using Entities = std::vector<Entity>;
  CHECK(entities_of(Strings{"B-PER", "I-PER", "O", "B-LOC"}) == Entities{{"PER", 0, 2}, {"LOC", 3, 4}});
  // I- without B-, a new B-, and a change of type.
  CHECK(entities_of(Strings{"I-PER", "I-PER", "O", "I-LOC"}) == Entities{{"PER", 0, 2}, {"LOC", 3, 4}});
  CHECK(entities_of(Strings{"B-PER", "B-PER", "I-PER"}) == Entities{{"PER", 0, 1}, {"PER", 1, 3}});
  CHECK(entities_of(Strings{"B-PER", "I-LOC", "I-LOC", "I-PER"}) ==
        Entities{{"PER", 0, 1}, {"LOC", 1, 3}, {"PER", 3, 4}});
  CHECK(entities_of(Strings{"O", "O"}).empty());
  CHECK(entities_of(Strings{"B-A-B", "I-A-B"}) == Entities{{"A-B", 0, 2}});
  CHECK(marks_entities(Strings{"O", "I-X"}));
  CHECK_FALSE(marks_entities(Strings{"O"}));
  CHECK_FALSE(marks_entities(Strings{"B-X", "NN"}));
}

TEST_CASE("entity scores count whole entities", "[tags]") {
  // The example of seqeval's description: one of two right.
  TagScores scores = scores_of({"O", "O", "O", "B-MISC", "I-MISC", "I-MISC", "O"},
                               {"O", "O", "B-MISC", "I-MISC", "I-MISC", "I-MISC", "O"});
  scores.add(Strings{"B-PER", "I-PER", "O"}, Strings{"B-PER", "I-PER", "O"});
  scores.add(Strings{}, Strings{});
  CHECK(scores.entities().f1() == 0.5);
  CHECK(scores.words() == 10);
  CHECK(scores.accuracy() == 0.8);
  CHECK(scores_of({"B-PER", "I-PER"}, {"B-PER", "I-LOC"}).entities().predicted == 2);
  CHECK(scores_of({"B-PER", "I-PER"}, {"I-PER", "I-PER"}).entities().f1() == 1);
  CHECK(scores_of({"O"}, {"O"}).entities().f1() == 0);
  CHECK_THAT(error_of([] { scores_of({"O"}, {}); }), ContainsSubstring("1 references"));
}

TEST_CASE("the baseline of a tagger is each word's most frequent tag", "[tags]") {
  FrequentTags frequent;
  frequent.add(Strings{"a", "a", "a", "b", "c", "c"}, Strings{"X", "Y", "Y", "Z", "X", "Y"});
  CHECK(frequent.tag(Strings{"a", "b", "c", "new"}) == Strings{"Y", "Z", "X", "Y"});
}
