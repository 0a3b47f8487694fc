#include "models/model_files.h"

#include <nlohmann/json.hpp>

#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_generation.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "runtime/check.h"
#include "runtime/files/weight_files.h"

namespace vkformer {

bool is_gguf(const std::filesystem::path& path) { return path.extension() == ".gguf"; }

void check_tokenizer_file(const std::filesystem::path& folder) {
  if (has_model_json(folder, tokenizer_file)) return;
  for (const char* other :
       {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model", "source.spm", "vocab.txt", "vocab.json"})
    check(!std::filesystem::exists(folder / other),
          "'{}' has {} and no {}, which transformers makes of it (AutoTokenizer.from_pretrained, save_pretrained)",
          folder.string(), other, tokenizer_file);
  fail("'{}' has no {}; download it from where the model is from (generate and logits also take --ids, without one)",
       folder.string(), tokenizer_file);
}

bool has_model_json(const std::filesystem::path& model, std::string_view file) {
  if (!is_gguf(model)) return std::filesystem::exists(model / file);
  if (file == tokenizer_file || file == "tokenizer_config.json")
    return has_gguf_tokenizer(GgufShards(model).metadata());
  if (file == generation_file) return has_gguf_sampling(GgufShards(model).metadata());
  return file == "config.json";
}

JsonObject load_model_json(const std::filesystem::path& model, std::string_view file) {
  if (!is_gguf(model)) {
    if (file == tokenizer_file) check_tokenizer_file(model);
    return JsonObject::load(model / file);
  }
  const GgufShards shards(model);
  if (file == "config.json") return JsonObject::make(gguf_config(shards), shards.name());
  if (file == tokenizer_file) return JsonObject::make(gguf_tokenizer(shards.metadata()), shards.name());
  if (file == generation_file) {
    nlohmann::json generation = gguf_sampling(shards.metadata());
    const nlohmann::json config = gguf_config(shards);
    for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
      if (config.contains(key)) generation[key] = config[key];
    return JsonObject::make(std::move(generation), shards.name());
  }
  check(file == "tokenizer_config.json", "{} has nothing in the place of a {}", shards.name(), file);
  return JsonObject::make(gguf_tokenizer_config(shards.metadata()), shards.name());
}

std::unique_ptr<const WeightSource> open_weights(const std::filesystem::path& model) {
  if (is_gguf(model)) return std::make_unique<GgufWeights>(model);
  return std::make_unique<WeightFiles>(model);
}

}  // namespace vkformer
