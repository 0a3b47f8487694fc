// Damaged files of tokenizers that are older than tokenizer.json: a tokenizer is made of them, or they are refused with
// one clear line; run it in the asan build.

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/model_files.h"
#include "models/text/tokenizer.h"
#include "tests/fuzz_helpers.h"
#include "tests/older_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// A folder of whose files one at a time is damaged.
struct OlderFolder {
  json config;
  std::map<std::string, std::string> files;
  json settings = json::object();
};

std::string small_model() {
  using Type = SentencePieceFile::Type;
  const SentencePieceFile file{.pieces = {{"<unk>", 0, Type::unknown},
                                          {"<s>", 0, Type::control},
                                          {"</s>", 0, Type::control},
                                          {"<sep>", 0, Type::control},
                                          {"<cls>", 0, Type::control},
                                          {"\u2581", -1},
                                          {"\u2581a", -2},
                                          {"b", -3},
                                          {"own", -4, Type::user_defined}}};
  return model_bytes(file);
}

std::vector<OlderFolder> older_folders() {
  const std::string vocabulary =
      R"({"<s>": 0, "</s>": 1, "<unk>": 2, "<pad>": 3, "a": 4, "b": 5, "ab": 6, ">>fr<<": 7})";
  const json tokens = {{"unk_token", "<unk>"},
                       {"mask_token", {{"content", "<mask>"}, {"lstrip", true}, {"normalized", false}}},
                       {"additional_special_tokens", {"<more>"}}};
  const json added = {{"added_tokens_decoder", {{"2", {{"content", "<unk>"}, {"special", true}}}}},
                      {"add_bos_token", true},
                      {"bos_token", "<unk>"}};
  return {{{{"model_type", "bert"}},
           {{"vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n##b\n"}},
           {{"do_lower_case", false}}},
          {{{"model_type", "gpt2"}}, {{"vocab.json", vocabulary}, {"merges.txt", "#version: 0.2\na b\n"}}, added},
          {{{"model_type", "roberta"}}, {{"vocab.json", vocabulary}, {"merges.txt", "#version: 0.2\na b\n"}}, tokens},
          {{{"model_type", "t5"}}, {{"spiece.model", small_model()}, {"special_tokens_map.json", tokens.dump()}}},
          {{{"model_type", "xlm-roberta"}}, {{"sentencepiece.bpe.model", small_model()}}},
          {{{"model_type", "camembert"}},
           {{"sentencepiece.bpe.model", small_model()}, {"added_tokens.json", R"({"x": 9})"}}},
          {{{"model_type", "xlnet"}}, {{"spiece.model", small_model()}}},
          {{{"model_type", "deberta-v2"}},
           {{"spm.model", small_model()}},
           {{"cls_token", "<cls>"}, {"sep_token", "<sep>"}}},
          {{{"model_type", "llama"}}, {{"tokenizer.model", small_model()}}, {{"legacy", false}}},
          {{{"model_type", "marian"}},
           {{"source.spm", small_model()}, {"target.spm", small_model()}, {"vocab.json", vocabulary}}}};
}

}  // namespace

TEST_CASE("damaged older tokenizers are made or refused", "[files][fuzz]") {
  Mutator mutate(11);
  for (const OlderFolder& good : older_folders()) {
    INFO(good.config.dump());
    const TemporaryFolder folder;
    const auto put_all = [&] {
      put(folder / "config.json", good.config.dump());
      put(folder / "tokenizer_config.json", good.settings.dump());
      for (const auto& [file, content] : good.files) put(folder / file, content);
    };
    const auto use = [&] {
      for (const char* file : {vkformer::tokenizer_file, target_tokenizer_file}) {
        if (file == target_tokenizer_file && !has_model_json(folder.path(), file)) continue;
        const Tokenizer tokenizer(load_model_json(folder.path(), file));
        tokenizer.decode(tokenizer.encode("<s>a ab \u00E4 own <mask>").ids);
        tokenizer.encode_pair("a", "b");
      }
    };
    Tally tally;
    put_all();
    attempt(tally, use);
    REQUIRE(tally.read == 1);
    for (int i = 0; i < tries(120); ++i) {
      put(folder / "tokenizer_config.json", mutate.values(good.settings));
      attempt(tally, use);
    }
    put_all();
    for (const auto& [file, content] : good.files) {
      for (int i = 0; i < tries(300); ++i) {
        put(folder / file, mutate.bytes(content));
        attempt(tally, use);
      }
      put_all();
    }
    CHECK(tally.refused > 20);
    CHECK(tally.read > 20);
  }
}
