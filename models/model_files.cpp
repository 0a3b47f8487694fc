#include "models/model_files.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_generation.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "models/quantised/quantised_weights.h"
#include "models/text/class_template.h"
#include "models/text/older_tokenizer.h"
#include "runtime/check.h"
#include "runtime/files/torch_weights.h"
#include "runtime/files/utf8.h"
#include "runtime/files/weight_files.h"

namespace vkformer {

bool is_gguf(const std::filesystem::path& path) {
  return std::ranges::equal(path.extension().generic_string(), std::string_view(".gguf"), {},
                            [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
}

namespace {

/// The side whose tokenizer the older files of a folder stand for: when it asks for that and has none of today's.
std::optional<TextSide> side_of_older(const std::filesystem::path& folder, std::string_view file) {
  if (file != tokenizer_file && file != target_tokenizer_file) return std::nullopt;
  if (std::filesystem::exists(folder / tokenizer_file) || std::filesystem::exists(folder / file)) return std::nullopt;
  return file == tokenizer_file ? TextSide::source : TextSide::target;
}

}  // namespace

bool has_model_json(const std::filesystem::path& model, std::string_view file) {
  if (!is_gguf(model)) {
    const auto side = side_of_older(model, file);
    return side ? why_no_older_tokenizer(model, *side).empty() : std::filesystem::exists(model / file);
  }
  if (file == tokenizer_file || file == "tokenizer_config.json")
    return has_gguf_tokenizer(GgufShards(model).metadata());
  if (file == generation_file) return has_gguf_sampling(GgufShards(model).metadata());
  return file == "config.json";
}

JsonObject load_model_json(const std::filesystem::path& model, std::string_view file) {
  if (!is_gguf(model)) {
    const auto side = side_of_older(model, file);
    if (!side) {
      const JsonObject content = JsonObject::load(model / file);
      if (file == "config.json") return with_quantisation_beside(content, model);
      return file == tokenizer_file ? with_class_template(content, model) : content;
    }
    return JsonObject::make(older_tokenizer(model, *side),
                            printable(model.generic_string()) + " (its older tokenizer)");
  }
  const GgufShards shards(model);
  if (file == "config.json") return JsonObject::make(gguf_config(shards), shards.name());
  if (file == tokenizer_file) return JsonObject::make(gguf_tokenizer(shards.metadata()), shards.name());
  if (file == generation_file) {
    nlohmann::json generation = gguf_sampling(shards.metadata());
    const nlohmann::json config = gguf_config(shards);
    for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id"})
      if (config.contains(key)) generation[key] = config[key];
    return JsonObject::make(std::move(generation), shards.name());
  }
  check(file == "tokenizer_config.json", "{} has nothing in the place of a {}", shards.name(), file);
  return JsonObject::make(gguf_tokenizer_config(shards.metadata()), shards.name());
}

std::unique_ptr<const WeightSource> open_weights(const std::filesystem::path& model) {
  if (is_gguf(model)) return std::make_unique<GgufWeights>(model);
  if (TorchWeights::are_in(model)) return std::make_unique<TorchWeights>(model);
  auto files = std::make_unique<WeightFiles>(model);
  if (!std::filesystem::exists(model / "config.json")) return files;
  const auto how = quantisation_of(load_model_json(model, "config.json"));
  if (how) return std::make_unique<QuantisedWeights>(std::move(files), *how);
  return files;
}

}  // namespace vkformer
