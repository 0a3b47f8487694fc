// Every family and every operator against what PyTorch computed: the cases in tests/fixtures.

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <map>

#include "models/verify/verify.h"

using namespace vkformer;

namespace {

/// How many tensors each case compares, so that none is left out unseen.
const std::map<std::string, int> cases = {
    {"bart", 84},
    {"bart_cls", 65},
    {"bert_cls", 53},
    {"bert_mlm", 54},
    {"bert_tokens", 35},
    {"deberta_cls", 38},
    {"deberta_mlm", 55},
    {"distilbert_cls", 36},
    {"distilbert_mlm", 53},
    {"electra_cls", 37},
    {"electra_mlm", 56},
    {"gpt2", 44},
    {"tokenizers", 32},
    {"gpt_neox", 44},
    {"llama", 37},
    {"llama_cls", 24},
    {"llama_linear", 34},
    {"gpt_neox_sequential", 32},
    {"marian", 104},
    {"m2m_100", 66},
    {"mbart", 72},
    {"mistral", 37},
    {"modernbert_cls", 45},
    {"modernbert_mlm", 41},
    {"mpnet_cls", 37},
    {"mpnet_mlm", 54},
    {"ops", 170},
    {"pegasus", 66},
    {"whisper", 83},
    {"qwen2", 42},
    {"roberta_cls", 37},
    {"roberta_mlm", 54},
    {"t5", 66},
    {"roberta_tokens", 35},
    {"t5_v11", 71},
    {"vaswani", 103},
    {"vaswani_prenorm", 107},
    {"xlnet", 51},
    {"xlnet_cls", 35},
    {"bert_qa", 51},
    {"xlnet_two_stream", 49},
    {"marian_apart", 63},
    {"qwen3", 41},
    {"gemma", 36},
    {"gemma2", 51},
    {"gemma3", 57},
    {"phi3", 31},
    {"olmo2", 41},
    {"smollm3", 36},
    {"llama_yarn", 28},
    {"phi3_short", 25},
    {"phi3_long", 25},
    {"qwen3_moe", 61},
    {"mixtral", 63},
    {"granite", 44},
    {"olmoe", 67},
    {"qwen2_moe", 77},
    {"olmo3", 63},
    {"gpt2_cls", 29},
    {"opt", 52},
    {"opt_after", 36},
    {"gpt_neo", 46},
    {"phi", 49},
    {"starcoder2", 51},
    {"gptj", 41},
    {"stablelm", 34},
    {"olmo", 32},
    {"gpt_oss", 53},
    {"arcee", 35},
    {"ministral3", 37},
    {"glm", 30},
    {"glm4", 45},
    {"cohere", 34},
    {"cohere2", 50},
    {"ernie4_5", 36},
    {"exaone4", 63},
    {"albert_mlm", 56},
    {"hunyuan", 40},
    {"bloom", 45},
    {"seed_oss", 31},
    {"albert_cls", 39},
    {"nomic_mlm", 39},
    {"nomic_cls", 38},
    {"nanochat", 30},
    {"granite4", 35},
    {"qwen3_5", 69},
    {"qwen3_5_moe", 69},
    {"lfm2", 62},
    {"granitemoe", 36},
    {"granite4_mamba", 74},
    {"lfm2_moe", 71},
    {"glm4_moe", 63},
    {"qwen3_next", 76},
    {"deepseek_v2", 55},
    {"deepseek_v3", 59},
    {"glm4_moe_lite", 65},
    {"ernie4_5_moe", 52},
    {"nemotron_h", 56},
    {"nemotron_h_moe", 61},
    {"nemotron_h_latent", 49},
    {"hunyuan_moe", 72},
    {"falcon", 31},
    {"falcon_new", 44},
    {"falcon_grouped", 25},
    {"codegen", 29},
    {"gpt_bigcode", 44},
    {"gpt_bigcode_heads", 32},
    {"mpt", 30},
    {"xglm", 51},
    {"biogpt", 52},
    {"falcon_h1", 51},
    {"falcon_h1_normed", 44},
    {"gemma4", 55},
    {"gemma4_small", 95},
    {"gemma4_moe", 39},
    {"vit", 52},
    {"deit", 39},
    {"dinov2", 56},
    {"dinov2_gated", 35},
    {"clip_vision", 52},
    {"clip_text", 49},
    {"siglip_vision", 44},
    {"siglip_text", 34},
    {"clip", 4},
    {"siglip", 4},
};

void verify(Backend& backend, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    INFO(name);
    const int compared = cases.at(name);
    int passed = 0;
    verify_case(backend, std::filesystem::path(VKFORMER_FIXTURES) / name, [&](const VerifyRow& row) {
      INFO(row.tensor << " error " << row.error << " tolerance " << row.tolerance << " " << row.note);
      CHECK(row.verdict != VerifyRow::Verdict::failed);
      passed += row.verdict == VerifyRow::Verdict::passed;
    });
    CHECK(passed == compared);
  }
}

const std::vector<std::string> one_of_each_kind = {"gpt2", "gemma3", "t5_v11", "vaswani", "xlnet"};

std::vector<std::string> all() {
  std::vector<std::string> names;
  for (const auto& [name, compared] : cases) names.push_back(name);
  return names;
}

}  // namespace

TEST_CASE("every recorded case is in the table", "[fixtures]") {
  size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(VKFORMER_FIXTURES))
    if (entry.is_directory()) {
      ++folders;
      CHECK(cases.contains(entry.path().filename().generic_string()));
    }
  CHECK(folders == cases.size());
}

TEST_CASE("the reference agrees with PyTorch, for one case of each kind", "[fixtures][long]") {
  verify(*make_reference_backend(), one_of_each_kind);
}

TEST_CASE("the reference agrees with PyTorch", "[fixtures][long]") { verify(*make_reference_backend(), all()); }

TEST_CASE("the device agrees with PyTorch", "[fixtures][device][one_driver]") { verify(*make_backend(""), all()); }

TEST_CASE("the device agrees with PyTorch when it is treated as a GPU", "[fixtures][device][one_driver]") {
  // Conformance runs every kernel of a GPU, and a software driver takes long to compile them: one encoder-decoder.
  verify(*make_backend("", {.as_gpu = true}), {"gpt2", "gptj", "opt_after", "gemma3", "t5_v11", "xlnet"});
}
