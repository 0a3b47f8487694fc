// Names of models on a hub, and which of their files are wanted.

#include <catch2/catch_test_macros.hpp>

#include "models/hub/gguf_names.h"
#include "models/hub/hub_cache.h"
#include "models/hub/hub_listing.h"
#include "tests/file_helpers.h"

using namespace vkformer;

namespace {

std::string listed(const std::string& path,
                   const std::string& rest = R"("size": 5, "blobId": ")" + std::string(40, 'a') + '"') {
  return R"({"rfilename": ")" + path + R"(", )" + rest + "}";
}

std::string reply_of(const std::string& files, const std::string& commit = std::string(40, 'c')) {
  return R"({"sha": ")" + commit + R"(", "siblings": [)" + files + "]}";
}

std::vector<std::string> wanted(const std::vector<std::string>& paths, std::string_view quant = "") {
  HubListing listing;
  for (const std::string& path : paths) listing.files.push_back({.path = path, .size = path.size(), .id = {}});
  std::vector<std::string> names;
  for (const HubFile& file : wanted_files(listing, quant)) names.push_back(file.path);
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("names of the hub are told from paths", "[hub]") {
  const auto plain = parse_hub_name("Qwen/Qwen2.5-0.5B");
  REQUIRE(plain);
  CHECK(plain->model() == "Qwen/Qwen2.5-0.5B");
  CHECK(plain->quant.empty());
  const auto gguf = parse_hub_name("a/b_c:UD-Q4_K_XL");
  REQUIRE(gguf);
  CHECK(gguf->name == "b_c");
  CHECK(gguf->quant == "UD-Q4_K_XL");
  for (const char* path :
       {"", "a", "/a", "a/", "a/b/c", "../a", "a/..", "./a", "a/b:", "a:b/c", "a b/c", "a/b--c", "C:/a", "a\\b/c"}) {
    CAPTURE(path);
    CHECK_FALSE(parse_hub_name(path));
  }
}

TEST_CASE("GGUF files are chosen by the type in their names", "[hub]") {
  CHECK(has_quant("model-Q4_K_M.gguf", "q4_k_m"));
  CHECK(has_quant("Q4_K_M/model-00001-of-00002.gguf", "Q4_K_M"));
  CHECK(has_quant("model.q4_0.gguf", "Q4_0"));
  CHECK_FALSE(has_quant("model-IQ4_XS.gguf", "Q4_XS"));
  CHECK_FALSE(has_quant("model-Q4_K_M.gguf", "Q4_K"));
  CHECK(without_shard("a/model-00002-of-00003.gguf") == "a/model");
  CHECK(without_shard("model-1-of-3.gguf") == "model-1-of-3");
  CHECK(is_later_shard("m-00002-of-00003.gguf"));
  CHECK_FALSE(is_later_shard("m-00001-of-00003.gguf"));

  const Names shards{"m-Q8_0-00002-of-00002.gguf", "m-Q8_0-00001-of-00002.gguf", "m-Q4_K_M.gguf", "mmproj-F16.gguf"};
  CHECK(meant_gguf(shards, "") == Names{"m-Q4_K_M.gguf"});
  CHECK(meant_gguf(shards, "Q8_0") == Names{shards[1], shards[0]});
  CHECK(meant_gguf(Names{"m-UD-Q4_K_XL.gguf", "m-Q4_K_XL.gguf"}, "Q4_K_XL") == Names{"m-Q4_K_XL.gguf"});
  CHECK(meant_gguf(Names{"m-Q5_0.gguf", "mmproj.gguf"}, "") == Names{"m-Q5_0.gguf"});
  CHECK(
      error_of([] {
        meant_gguf(Names{"m-Q5_0.gguf", "m-Q8_0.gguf"}, "");
      }) ==
      "there are 2 GGUF files, none of them Q4_K_M; name a type behind a colon, as :Q8_0, of m-Q5_0.gguf, m-Q8_0.gguf");
  CHECK(error_of([] { meant_gguf(Names{"m-Q5_0.gguf"}, "Q2_K"); }) == "no GGUF file is Q2_K; there are m-Q5_0.gguf");
}

TEST_CASE("of a model's files those are wanted that are read", "[hub]") {
  CHECK(
      wanted({"config.json", "README.md", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors",
              "pytorch_model.bin", "consolidated.safetensors", "original/params.json", "tokenizer.model", "merges.txt",
              "chat_template.jinja", "2_Dense/model.safetensors", "onnx/model.onnx", "model.fp32.safetensors"}) ==
      Names{"config.json", "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "tokenizer.model",
            "merges.txt", "chat_template.jinja", "2_Dense/model.safetensors"});
  CHECK(wanted({"config.json", "pytorch_model.bin", "training_args.bin"}) == Names{"config.json", "pytorch_model.bin"});
  CHECK(wanted({"adapter_config.json", "adapter_model.safetensors"}).size() == 2);
  const Names both{"config.json",     "model.safetensors", "m-Q8_0.gguf",
                   "mmproj-f32.gguf", "mmproj-BF16.gguf",  "mmproj-F16.gguf"};
  CHECK(wanted(both) == Names{"config.json", "model.safetensors"});
  CHECK(wanted(both, "Q8_0") == Names{"m-Q8_0.gguf", "mmproj-F16.gguf"});
  CHECK(wanted({"config.json", "m-Q8_0.gguf"}) == Names{"m-Q8_0.gguf"});
  CHECK(error_of([] { wanted({"README.md"}); }) == "it has neither safetensors, nor pytorch_model.bin, nor GGUF files");
}

TEST_CASE("what a hub says of a model is read with suspicion", "[hub]") {
  const std::string large = R"("size": 130, "blobId": ")" + std::string(40, 'b') +
                            R"(", "lfs": {"size": 7, "sha256": ")" + std::string(64, 'd') + R"("})";
  const HubListing listing = parse_hub_listing(reply_of(listed("config.json") + "," + listed("a/b.bin", large)), "m");
  CHECK(listing.commit == std::string(40, 'c'));
  REQUIRE(listing.files.size() == 2);
  CHECK(listing.files[0].size == 5);
  CHECK(listing.files[1].size == 7);
  CHECK(listing.files[1].id == std::string(64, 'd'));
  for (const char* path : {"", "/etc/passwd", "../a", "a/../../b", "a\\\\b", "C:b", "./a", "a/", "a\\u0007"}) {
    CAPTURE(path);
    CHECK(error_of([&] { parse_hub_listing(reply_of(listed(path)), "m"); }).ends_with("leads out of its folder"));
  }
  CHECK(error_of([] { parse_hub_listing(reply_of("", "../../x"), "m"); }) == "m: sha is no commit");
  CHECK(error_of([] {
          parse_hub_listing(reply_of(listed("a", R"("size": 1, "blobId": "../x")")), "m");
        }).ends_with("a file's id is no hash"));
  CHECK_THROWS_AS(parse_hub_listing(reply_of(listed("a", R"("size": -1, "blobId": "a")")), "m"), Error);
  CHECK_THROWS_AS(parse_hub_listing("[]", "m"), Error);
}
