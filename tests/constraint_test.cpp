// Answers that keep to a grammar.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <random>

#include "models/chat/thinking.h"
#include "models/constraint/grammar_constraint.h"
#include "models/constraint/json_schema.h"
#include "models/generation/beam_search.h"
#include "models/text/tokenizer.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"
#include "tests/model_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// Every byte is a token; 256 ends.
constexpr int32_t end_id = 256;
std::shared_ptr<const TokenBytes> byte_tokens(std::vector<std::string> more = {}, bool drops_first_blank = false) {
  std::vector<std::optional<std::string>> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(std::string(1, static_cast<char>(byte)));
  tokens.emplace_back();  // the end
  tokens.insert(tokens.end(), more.begin(), more.end());
  return std::make_shared<TokenBytes>(std::move(tokens), drops_first_blank);
}

std::shared_ptr<GrammarTokens> over(const Grammar& grammar, const std::shared_ptr<const TokenBytes>& tokens) {
  return std::make_shared<GrammarTokens>(grammar, tokens);
}

/// The tokens that may follow, of a grammar that begins with the answer.
std::string allowed_after(const GrammarConstraint& constraint, const std::vector<int32_t>& generated,
                          size_t size = 257) {
  std::vector<double> scores(size, 0);
  constraint.restrict_scores(generated, scores);
  std::string list;
  for (size_t id = 0; id < scores.size(); ++id)
    if (scores[id] == 0) list += id < 256 ? std::string(1, static_cast<char>(id)) : fmt::format("<{}>", id);
  return list;
}

}  // namespace

TEST_CASE("what tokens add to a text makes the text", "[constraint]") {
  for (const char* kind : {"gpt2", "llama", "t5"}) {
    const Tokenizer tokenizer = Tokenizer::load(fixtures / "tokenizers" / kind / "tokenizer.json");
    for (const char* text : {"The cat sat, and: {\"a\": [1, 2]}", "é漢😀 is\tnot ASCII\n", "  two  blanks "}) {
      const std::vector<int32_t> ids = tokenizer.encode(text, true).ids;
      std::string joined;
      for (const int32_t id : ids) joined += tokenizer.bytes_of(id).value_or("");
      const std::string decoded = tokenizer.decode(ids);
      CAPTURE(kind, text, joined);
      CHECK((joined == decoded || joined == ' ' + decoded));
    }
    CHECK(!tokenizer.bytes_of(static_cast<int32_t>(tokenizer.size())));
    for (const int32_t id : tokenizer.special_ids()) CHECK(!tokenizer.bytes_of(id));
  }
  const Tokenizer bert = Tokenizer::load(fixtures / "tokenizers" / "bert" / "tokenizer.json");
  CHECK_THAT(error_of([&] { bert.bytes_of(5); }), ContainsSubstring("depends on the others"));
}

TEST_CASE("tokens that may come are those whose bytes may", "[constraint]") {
  std::mt19937 random(11);
  const std::string letters = "ab{}\" :,1";
  std::vector<std::string> more;
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (size_t length = random() % 6; length > 0; --length) text += letters[random() % letters.size()];
    more.push_back(text);
  }
  const auto tokens = byte_tokens(more);
  GrammarStates states(
      parse_gbnf(gbnf_of_schema_text(R"({"properties": {"a": {}, "b": {"type": "integer"}}})", "s"), "g"));
  for (const char* text : {"", "{", "{\"a", "{\"a\": 1", "{\"a\": \"b", "{\"a\": {\"", "{}"}) {
    const auto begin = states.next(states.start(), text);
    REQUIRE(begin != GrammarStates::nowhere);
    std::vector<int32_t> walked, tried;
    tokens->walk(
        begin, GrammarStates::nowhere, [&](auto state, uint8_t byte) { return states.next(state, byte); },
        [&](int32_t id) { walked.push_back(id); });
    for (int32_t id = 0; id < static_cast<int32_t>(tokens->size()); ++id) {
      const auto bytes = tokens->find(id);
      if (bytes && !bytes->empty() && states.next(begin, *bytes) != GrammarStates::nowhere) tried.push_back(id);
    }
    std::ranges::sort(walked);
    CHECK(walked == tried);
    CHECK(tried.size() < tokens->size());
  }
}

TEST_CASE("an answer ends where its grammar may, and thoughts are free", "[constraint]") {
  const Grammar grammar = parse_gbnf(R"(root ::= "a" "b"? | " c")", "g");
  const GrammarConstraint plain(over(grammar, byte_tokens()), {end_id}, false);
  CHECK(allowed_after(plain, {}) == " a");
  CHECK(allowed_after(plain, {'a'}) == "b<256>");
  CHECK(allowed_after(plain, {'a', 'b'}) == "<256>");
  CHECK(allowed_after(plain, {'x'}).empty());
  CHECK(allowed_after(plain, {'a'}, 300) == "b<256>");  // logits are often more than tokens
  // A blank that begins a text is none.
  const GrammarConstraint first(over(grammar, byte_tokens({" a", " ab", "  c"}, true)), {end_id}, true);
  CHECK(allowed_after(first, {}, 260) == "a<257><258><259>");
  CHECK(allowed_after(first, {257}, 260) == "b<256>");
  const GrammarConstraint behind(over(grammar, byte_tokens({" a"}, true)), {end_id}, false);
  CHECK(allowed_after(behind, {}, 258) == " a");
  // 260 and 261 begin and end thoughts, which the prompt began.
  const GrammarConstraint thinking(over(grammar, byte_tokens({"", "", "", "<think>", "</think>"})), {end_id}, false,
                                   [] {
                                     const std::vector<int32_t> prompt{260};
                                     return std::make_unique<Thinking>(Thinking::Marks{260, 261}, prompt);
                                   });
  CHECK(allowed_after(thinking, {'x', 'y'}, 262).size() == 256 + 5 * std::string("<257>").size());
  CHECK(allowed_after(thinking, {'x', 261}, 262) == " a");
  CHECK(allowed_after(thinking, {'x', 261, 'a'}, 262) == "b<256>");
}

TEST_CASE("whatever a model wants to say, its answer is what the schema takes", "[constraint]") {
  const std::string schema = R"({"type": "object", "properties": {"kind": {"enum": ["cat", "dog"]},
    "legs": {"type": "integer", "minimum": 2, "maximum": 40}, "names": {"type": "array", "maxItems": 3,
    "items": {"type": "string", "maxLength": 4}}, "of": {"anyOf": [{"type": "null"}, {"type": "boolean"}]}},
    "required": ["kind", "names"]})";
  const auto tokens = byte_tokens({"{\"", "\": ", "\", \"", "cat", "[\"", "\"]", "}", "\n  ", "true", "é"});
  const size_t vocabulary = tokens->size();
  std::mt19937 random(5);
  std::uniform_real_distribution<float> logit(-3, 3);
  GenerationConfig config;
  config.max_new_tokens = 400;
  config.eos_token_ids = {end_id};
  config.constraint = std::make_shared<GrammarConstraint>(
      over(parse_gbnf(gbnf_of_schema_text(schema, "s"), "g"), tokens), config.eos_token_ids, false);
  for (int round = 0; round < 12; ++round) {
    config.do_sample = round % 3 == 1;
    config.num_beams = round % 3 == 2 ? 3 : 1;
    config.seed = static_cast<uint32_t>(round);
    const auto search = make_search(config, {{1, 2}, {3}}, static_cast<int64_t>(vocabulary));
    CHECK(search->choices() == 0);  // any token may be the only one
    while (!search->done()) {
      std::vector<float> logits(static_cast<size_t>(search->rows()) * vocabulary);
      for (float& value : logits) value = logit(random);
      search->advance(logits);
    }
    const auto results = search->results();
    REQUIRE(results.size() == 2);
    for (size_t source = 0; source < results.size(); ++source) {
      std::vector<int32_t> ids = results[source].at(0).ids;
      REQUIRE(ids.back() == end_id);
      std::string text;
      for (size_t i = source == 0 ? 2 : 1; i + 1 < ids.size(); ++i) text += *tokens->find(ids[i]);
      INFO(text);
      GrammarStates states(parse_gbnf(gbnf_of_schema_text(schema, "s"), "g"));
      const auto state = states.next(states.start(), text);
      CHECK((state != GrammarStates::nowhere && states.ends(state)));
      const json value = json::parse(text);
      CHECK((value["kind"] == "cat" || value["kind"] == "dog"));
    }
  }
}

TEST_CASE("an error in a walk leaves nothing half known", "[constraint]") {
  const auto tokens =
      over(parse_gbnf(R"(root ::= ("a" root "x" | [a-z] root "y" | "q"))", "g"), byte_tokens({std::string(60, 'a')}));
  for (int round = 0; round < 2; ++round)
    CHECK_THROWS_AS(tokens->next({}, false, [](const GrammarTokens::Next&) {}), Error);
}

TEST_CASE("forced ids stand outside of a constraint, and beams end where theirs does", "[constraint]") {
  const auto found = [](const char* gbnf, GenerationConfig config) {
    const std::vector<std::optional<std::string>> tokens{"a", "c", std::nullopt, std::nullopt};
    config.eos_token_ids = {2};
    config.constraint = std::make_shared<GrammarConstraint>(
        over(parse_gbnf(gbnf, "g"), std::make_shared<TokenBytes>(tokens)), config.eos_token_ids, false);
    const auto search = make_search(config, {{1}}, 4);
    while (!search->done()) {
      const std::vector<float> row{0, 1, 0, 0};
      std::vector<float> logits;
      for (int64_t i = 0; i < search->rows(); ++i) logits.insert(logits.end(), row.begin(), row.end());
      search->advance(logits);
    }
    return search->results()[0][0].ids;
  };
  using Ids = std::vector<int32_t>;
  CHECK(found(R"(root ::= "ac")", {.forced_bos_token_id = 3}) == Ids{1, 3, 0, 1, 2});
  CHECK(found(R"(root ::= "a"+)", {.max_new_tokens = 3, .forced_eos_token_ids = {2}}) == Ids{1, 0, 0, 2});
  // The better beam can't end as the grammar does.
  CHECK(found(R"(root ::= "a" | "cc" "b")", {.num_beams = 2}) == Ids{1, 0, 2});
}

TEST_CASE("an answer that can't go on as it must is an error", "[constraint]") {
  for (const char* gbnf : {R"(root ::= "ab")", R"(root ::= "a")"})
    for (const int64_t beams : {1, 2}) {
      GenerationConfig config;
      config.num_beams = beams;
      std::vector<std::optional<std::string>> tokens{"a", "c"};
      config.constraint = std::make_shared<GrammarConstraint>(
          over(parse_gbnf(gbnf, "g"), std::make_shared<TokenBytes>(tokens)), std::vector<int32_t>(), false);
      const auto search = make_search(config, {{1}}, 2);
      const std::vector<float> logits(2 * static_cast<size_t>(beams), 0.0f);
      search->advance(logits);
      INFO(gbnf);
      // "b" is no token. Without an id for ends a text that nothing can follow is whole.
      if (gbnf == std::string(R"(root ::= "a")")) {
        search->advance(logits);
        CHECK(search->done());
        CHECK(search->results()[0][0].ids == std::vector<int32_t>{1, 0});
      } else {
        CHECK_THAT(error_of([&] { search->advance(logits); }), ContainsSubstring("vocabulary lacks characters"));
      }
    }
}

TEST_CASE("damaged grammars, schemas and patterns", "[fuzz][constraint]") {
  const std::string grammars[] = {
      "root ::= item (\", \" item){0,2} # three\nitem ::= [^a-c\\x41] | \"(\" root \")\" | .+\n",
      "root ::= (\"a\"? \"b\"*)* x\nx ::= \"\\u00e9\" | y?\ny ::= x{1,3} \"c\""};
  const std::string schemas[] = {
      R"({"type": "object", "properties": {"a": {"type": "string", "pattern": "^[A-Z]{2}-\\d+(\\.x|y)?$"},
          "b": {"$ref": "#/$defs/c"}}, "required": ["a"], "$defs": {"c": {"enum": [1, "x"]}}})",
      R"({"anyOf": [{"type": "array", "prefixItems": [{}], "minItems": 2}, {"type": "integer", "minimum": -5},
          {"type": ["string", "null"], "maxLength": 9}]})"};
  Mutator mutator(17);
  Tally tally;
  const auto walk = [&](const std::string& gbnf) {
    GrammarStates states(parse_gbnf(gbnf, "g"));
    for (int i = 0; i < 4; ++i) states.next(states.start(), mutator.bytes("a, (b), {\"a\": 1}"));
  };
  for (int i = 0; i < tries(1500); ++i) {
    attempt(tally, [&] { walk(mutator.bytes(grammars[i % 2])); });
    attempt(tally, [&] { walk(gbnf_of_schema_text(mutator.bytes(schemas[i % 2]), "s")); });
  }
  CHECK(tally.read > 50);
  CHECK(tally.refused > 100);
}
