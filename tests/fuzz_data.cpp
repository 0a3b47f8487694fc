// Damaged training data: each file is read or refused with one clear line, and nothing else happens; run it in the asan
// build.

#include "models/data/labelled_rows.h"
#include "models/data/lines.h"
#include "models/data/pair_rows.h"
#include "models/data/questions.h"
#include "models/data/tagged_texts.h"
#include "models/data/token_sequence.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/utf8.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

const std::string good_json_lines = R"({"text": "caf\u00e9 \ud83d\ude42", "label": "a"}

{"text": "two", "label": 7}
{"label": "a", "text": "", "more": [1, {"x": null}]}
)";
const std::string good_csv = "label,text,more\r\na,\"x, \"\"y\"\"\nz\",1\r\nb,caf\xC3\xA9,\n";
const std::string good_tsv = "sentence1\tlabel\tsentence2\n\"a\t1\tb\n\tc\t\n";

/// Files' names and contents.
using Files = std::vector<std::pair<std::string, std::string>>;

/// Calls read(content, name) for each file, which must be good, then for damaged ones in turn, `count` in all.
template <class Read>
Tally read_damaged(const Files& files, uint64_t seed, size_t count, Read read) {
  Mutator mutate(seed);
  Tally tally;
  for (const auto& [name, content] : files) attempt(tally, [&] { read(content, name); });
  REQUIRE(tally.read == std::ssize(files));
  for (size_t i = 0; i < count; ++i) {
    const auto& [name, content] = files[i % files.size()];
    const std::string damaged = mutate.bytes(content);
    attempt(tally, [&] { read(damaged, name); });
  }
  return tally;
}

}  // namespace

TEST_CASE("damaged labelled rows are read or refused", "[data][fuzz]") {
  const Files files{{"rows.jsonl", good_json_lines}, {"rows.csv", good_csv}, {"rows.tsv", good_tsv}};
  const Tally tally = read_damaged(files, 5, 6000, [](const std::string& content, const std::string& name) {
    const LabelledRows rows = read_labelled_rows(content, name);
    for (const LabelledRow& row : rows.rows) REQUIRE((row.line > 0 && !row.label.empty()));
    const auto names = label_names(rows);
    REQUIRE(classes_of_rows(rows, names).size() == rows.rows.size());
  });
  CHECK(tally.refused > 1000);
  CHECK(tally.read > 200);
}

TEST_CASE("damaged pairs are read or refused", "[data][fuzz]") {
  const Files files{{"pairs.tsv", "one\teins\r\ncaf\xC3\xA9\t\tmore\n\t\n"},
                    {"pairs.jsonl", R"({"translation": {"en": "one", "de": "eins"}, "id": 7}
{"translation": {"de": "zwei", "en": "two"}}
)"},
                    {"plain.jsonl", "{\"source\": \"a\", \"target\": \"b\"}\n"},
                    {"prompts.jsonl", "{\"prompt\": \"a\", \"completion\": \"b\"}\n"}};
  CHECK(read_pair_rows(files[0].second, "pairs.tsv").targets == std::vector<std::string>{"eins", "", ""});
  const PairRows nested = read_pair_rows(files[1].second, "pairs.jsonl");
  CHECK(nested.sources == std::vector<std::string>{"one", "two"});
  CHECK(nested.targets == std::vector<std::string>{"eins", "zwei"});
  CHECK(read_pair_rows(files[3].second, "prompts.jsonl").targets == std::vector<std::string>{"b"});
  const Tally tally = read_damaged(files, 6, 3000, [](const std::string& content, const std::string& name) {
    const PairRows rows = read_pair_rows(content, name);
    REQUIRE((rows.sources.size() == rows.targets.size() && !rows.sources.empty()));
  });
  CHECK(tally.refused > 500);
  CHECK(tally.read > 200);
}

TEST_CASE("damaged tagged words are read or refused", "[data][fuzz]") {
  const Files files{{"words.conll", "-DOCSTART- -X- O\n\nNew NNP B-LOC\nYork NNP I-LOC\n\ncaf\xC3\xA9\tNN\tO\r\n"},
                    {"words.jsonl", R"({"tokens": ["New", "York"], "ner_tags": ["B-LOC", "I-LOC"]}
{"words": ["a"], "labels": ["O"]}
{"tokens": [], "tags": []}
)"}};
  const Tally tally = read_damaged(files, 8, 3000, [](const std::string& content, const std::string& name) {
    const TaggedTexts texts = read_tagged_texts(content, name);
    for (const TaggedText& text : texts.texts)
      REQUIRE((!text.words.empty() && text.words.size() == text.tags.size() && text.lines.size() == text.words.size()));
    const auto names = tag_names(texts);
    REQUIRE(classes_of_words(texts, names).size() == texts.texts.size());
  });
  CHECK(tally.refused > 500);
  CHECK(tally.read > 200);
}

TEST_CASE("damaged questions are read or refused", "[data][fuzz]") {
  Mutator mutate(9);
  Tally tally;
  const nlohmann::json squad = nlohmann::json::parse(
      R"({"data": [{"paragraphs": [{"context": "le café est là", "qas": [
          {"question": "où", "answers": [{"text": "là", "answer_start": 12}]}, {"question": "x", "answers": []}]}]}]})");
  const std::string lines =
      R"({"question": "où", "context": "le café est là", "answers": {"text": ["là"], "answer_start": [12]}}
{"question": "q", "context": "a b", "answer": "b", "answer_start": 2}
)";
  attempt(tally, [&] { read_questions(squad.dump(), "q.json"); });
  attempt(tally, [&] { read_questions(lines, "q.jsonl"); });
  REQUIRE(tally.read == 2);
  for (size_t i = 0; i < 4000; ++i) {
    const std::string name = i % 2 ? "q.jsonl" : "q.json";
    const std::string damaged = i % 2 ? mutate.bytes(lines) : i % 4 ? mutate.bytes(squad.dump()) : mutate.values(squad);
    attempt(tally, [&] {
      for (const Question& question : read_questions(damaged, name).questions) {
        REQUIRE(question.answer.end <= question.context.size());
        REQUIRE(question.answer.begin <= question.answer.end);
        REQUIRE(question.answers.empty() == (question.answer.begin == question.answer.end));
      }
    });
  }
  CHECK(tally.refused > 1000);
  CHECK(tally.read > 200);
}

TEST_CASE("damaged lines are read or refused", "[data][fuzz]") {
  Mutator mutate(6);
  Tally tally;
  for (int i = 0; i < 3000; ++i) {
    const std::string damaged = mutate.bytes("\xEF\xBB\xBFone\r\n\nzwei \xC3\xBC\n\xF0\x9F\x99\x82");
    attempt(tally, [&] {
      for (const std::string& line : split_lines(damaged, "lines.txt"))
        for (size_t at = 0; at < line.size();) {
          const Utf8Step step = read_utf8(line, at);
          REQUIRE((step.valid && line[at] != '\n'));
          at += step.length;
        }
    });
  }
  CHECK(tally.refused > 300);
  CHECK(tally.read > 500);
}

TEST_CASE("damaged token files are read or refused", "[data][fuzz]") {
  Mutator mutate(7);
  Tally tally;
  const TemporaryFolder folder;
  const auto path = folder / "tokens.safetensors";
  for (const int64_t vocabulary : {300, 70000}) {
    write_tokens(path, std::vector<int32_t>(400, 299), vocabulary, "print");
    const std::string good = get(path);
    for (int i = 0; i < 1500; ++i) {
      put(path, mutate.bytes(good));
      attempt(tally, [&] {
        const TokenSequence ids(std::make_shared<const MappedFile>(path), path.generic_string());
        std::vector<int32_t> all(static_cast<size_t>(ids.size()));
        ids.read(0, all);
        const int64_t size = ids.largest_size();
        for (int32_t id : all) REQUIRE(id < size);
      });
    }
  }
  CHECK(tally.refused > 500);
  CHECK(tally.read > 100);
}
