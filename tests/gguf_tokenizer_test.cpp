// Tokenizers in the metadata of GGUF files, both ways, and what can't be is refused.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "models/gguf/gguf_tokenizer.h"
#include "models/text/tokenizer.h"
#include "runtime/files/gguf.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

TEST_CASE("tokenizers go through GGUF files", "[gguf]") {
  const TemporaryFolder folder;
  for (const char* kind : {"gpt2", "llama", "bert", "t5"}) {
    INFO(kind);
    const auto source = fixtures / "tokenizers" / kind;
    const Tokenizer before = Tokenizer::load(source / "tokenizer.json");
    GgufPairs pairs;
    add_tokenizer(pairs, source, json::object(), before.size() + 3);
    const auto path = folder / (std::string(kind) + ".gguf");
    write_gguf(path, pairs, {});
    const GgufFile file(path);
    const Tokenizer after(JsonObject::make(gguf_tokenizer(file.metadata()), "x.gguf"));
    CHECK(after.size() == before.size() + 3);
    const JsonObject cases = JsonObject::load(source / "cases.json");
    for (const json& recorded : cases.value().at("cases")) {
      const std::string text = recorded.at("text");
      INFO(text);
      const auto ids = recorded.at("ids").get<std::vector<int32_t>>();
      CHECK(after.encode(text).ids == ids);
      CHECK(after.decode(ids) == before.decode(ids));
    }
  }
}

TEST_CASE("special tokens of Phi-3 take the blanks behind them along", "[gguf]") {
  const TemporaryFolder folder;
  for (const auto& [name, blanks] : {std::pair{"Phi-3 mini", ""}, {"my phi3", ""}, {"llama", "\n "}}) {
    INFO(name);
    GgufPairs pairs;
    pairs.add_text("general.name", name);
    pairs.add_text("tokenizer.ggml.model", "llama");
    pairs.add_texts("tokenizer.ggml.tokens",
                    std::vector<std::string>{"<unk>", "<s>", "<|user|>", "<0x0A>", "\xE2\x96\x81", "a"});
    pairs.add_integers("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, 3, 6, 1, 1});
    pairs.add_numbers("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, 0, -1, -2});
    pairs.add_boolean("tokenizer.ggml.add_bos_token", false);
    pairs.add_boolean("tokenizer.ggml.add_space_prefix", false);
    write_gguf(folder / "t.gguf", pairs, {});
    const GgufFile file(folder / "t.gguf");
    const Tokenizer tokens(JsonObject::make(gguf_tokenizer(file.metadata()), "t.gguf"));
    const std::vector<int32_t> stripped{2, 5, 1, 4, 5}, kept{2, 3, 4, 5, 1, 4, 5};
    CHECK(tokens.encode("<|user|>\n a<s> a").ids == (*blanks ? kept : stripped));
  }
}

TEST_CASE("tokens that end a turn are special whatever the file calls them", "[gguf]") {
  const TemporaryFolder folder;
  for (const int32_t kind : {1, 3, 4}) {
    GgufPairs pairs;
    pairs.add_text("tokenizer.ggml.model", "llama");
    pairs.add_texts("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "<|end|>", "<|more|>", "a"});
    pairs.add_integers("tokenizer.ggml.token_type", std::vector<int32_t>{2, 3, kind, kind, 1});
    pairs.add_numbers("tokenizer.ggml.scores", std::vector<float>(5));
    write_gguf(folder / "t.gguf", pairs, {});
    const GgufFile file(folder / "t.gguf");
    const json tokenizer = gguf_tokenizer(file.metadata());
    for (const json& token : tokenizer["added_tokens"]) {
      if (token["content"] == "<|end|>") CHECK(token["special"] == true);
      if (token["content"] == "<|more|>") CHECK(token["special"] == (kind == 3));
    }
    const Tokenizer tokens(JsonObject::make(tokenizer, "t.gguf"));
    CHECK(tokens.encode("<|end|>", false).ids == std::vector<int32_t>{2});
  }
}

TEST_CASE("words are split as the file says", "[gguf]") {
  const TemporaryFolder folder;
  const std::vector<std::string> tokens{"a", "B", "'", "s", "1", "2", "aB", "Ba", "Ba'", "12"};
  using Words = std::vector<std::string>;
  for (const auto& [pre, words] : {std::pair{"gpt-2", Words{"aB", "a", "'", "s", "12"}},
                                   {"gpt-4o", {"a", "Ba'", "s", "12"}},
                                   {"tekken", {"a", "Ba", "'", "s", "1", "2"}},
                                   {"qwen35", {"aB", "a", "'", "s", "1", "2"}},
                                   {"qwen2", {"aB", "a", "'", "s", "1", "2"}}}) {
    INFO(pre);
    GgufPairs pairs;
    pairs.add_text("tokenizer.ggml.model", "gpt2");
    pairs.add_text("tokenizer.ggml.pre", pre);
    pairs.add_texts("tokenizer.ggml.tokens", tokens);
    pairs.add_texts("tokenizer.ggml.merges", std::vector<std::string>{"a B", "B a", "Ba '", "1 2"});
    pairs.add_integers("tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1));
    pairs.add_boolean("tokenizer.ggml.add_bos_token", false);
    write_gguf(folder / "t.gguf", pairs, {});
    const GgufFile file(folder / "t.gguf");
    Words found;
    for (const int32_t id :
         Tokenizer(JsonObject::make(gguf_tokenizer(file.metadata()), "t.gguf")).encode("aBa's12").ids)
      found.push_back(tokens.at(static_cast<size_t>(id)));
    CHECK(found == words);
  }
}

TEST_CASE("marks belong to words where the file says so, and a file says it", "[gguf]") {
  const TemporaryFolder folder;
  // A hook that goes under the letter before it, of two bytes.
  const std::vector<std::string> tokens{"a", "\xC3\x8C", "\xC2\xA1", "\xC3\x8C\xC2\xA1", "a\xC3\x8C\xC2\xA1"};
  const auto pairs_of = [&](const char* pre) {
    GgufPairs pairs;
    pairs.add_text("tokenizer.ggml.model", "gpt2");
    pairs.add_text("tokenizer.ggml.pre", pre);
    pairs.add_texts("tokenizer.ggml.tokens", tokens);
    pairs.add_texts("tokenizer.ggml.merges", std::vector<std::string>{"\xC3\x8C \xC2\xA1", "a \xC3\x8C\xC2\xA1"});
    pairs.add_integers("tokenizer.ggml.token_type", std::vector<int32_t>(tokens.size(), 1));
    return pairs;
  };
  for (const auto& [pre, ids] : {std::pair{"qwen2", std::vector<int32_t>{0, 3}}, {"qwen35", {4}}}) {
    INFO(pre);
    write_gguf(folder / "t.gguf", pairs_of(pre), {});
    const json tokenizer = gguf_tokenizer(GgufFile(folder / "t.gguf").metadata());
    CHECK(Tokenizer(JsonObject::make(tokenizer, "t.gguf")).encode("a\xCC\xA1", false).ids == ids);
    put(folder / "tokenizer.json", tokenizer.dump());
    GgufPairs again;
    add_tokenizer(again, folder.path(), json::object(), std::ssize(tokens));
    write_gguf(folder / "again.gguf", again, {});
    CHECK(GgufFile(folder / "again.gguf").metadata().text("tokenizer.ggml.pre") == pre);
  }
}

TEST_CASE("tokenizers that are not known are refused by name", "[gguf]") {
  const TemporaryFolder folder;
  const auto error_with = [&](const char* model, const char* pre, int kinds, const char* merge = "a b") {
    GgufPairs pairs;
    pairs.add_text("tokenizer.ggml.model", model);
    if (pre) pairs.add_text("tokenizer.ggml.pre", pre);
    pairs.add_texts("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"});
    pairs.add_texts("tokenizer.ggml.merges", std::vector<std::string>{merge});
    pairs.add_integers("tokenizer.ggml.token_type", std::vector<int32_t>(static_cast<size_t>(kinds), 1));
    write_gguf(folder / "t.gguf", pairs, {});
    const GgufFile file(folder / "t.gguf");
    return error_of([&] { gguf_tokenizer(file.metadata()); });
  };
  CHECK(error_with("gpt2", "gpt-2", 2).empty());
  CHECK_THAT(error_with("gpt2", "martian", 2),
             ContainsSubstring("key tokenizer.ggml.pre is \"martian\", which is not"));
  CHECK_THAT(error_with("rwkv", nullptr, 2), ContainsSubstring("key tokenizer.ggml.model is \"rwkv\"; known are gpt2"));
  CHECK_THAT(error_with("gpt2", "gpt-2", 2, "a \xFF"),
             ContainsSubstring("key tokenizer.ggml.merges: string 0 is not UTF-8: \"a \\xFF\""));
  CHECK_THAT(error_with("gpt2", "gpt-2", 3), ContainsSubstring("token_type has 3 values for 2 tokens"));
}
