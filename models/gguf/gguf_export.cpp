#include "models/gguf/gguf_export.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "models/embedding/recipe.h"
#include "models/finite_weights.h"
#include "models/gguf/architectures.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_generation.h"
#include "models/gguf/gguf_targets.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

/// What becomes of the hidden states: an encoder's file always says it, a decoder's where it makes embeddings.
void add_pooling(GgufPairs& pairs, const GgufArchitecture& architecture, const Model& model,
                 const std::filesystem::path& folder) {
  constexpr uint32_t none = 0, by_classifier = 4;
  const std::string key = std::string(architecture.name) + ".pooling_type";
  if (model.task == Task::classify || model.task == Task::score) return pairs.add_integer(key, by_classifier);
  const EmbeddingRecipe recipe = embedding_recipe(folder);
  check(recipe.dense.empty(), "{}: GGUF files have no place for its Dense layers; convert it to a folder",
        folder.generic_string());
  if (recipe.said)
    pairs.add_integer(key, gguf_number(recipe.pooling));
  else if (!model.generates())
    pairs.add_integer(key, none);
}

/// What a config says under the name that it has for a key of the file.
std::optional<int64_t> setting_in(const json& config, const GgufArchitecture& architecture, std::string_view key) {
  for (const KeyRow& row : architecture.keys) {
    if (row.gguf != key) continue;
    if (const auto value = config.find(row.hugging_face); value != config.end() && value->is_number())
      return value->get<int64_t>();
  }
  return std::nullopt;
}

/// In files that list the heads of layers the first has none: what llama-quantize looks at.
bool starts_without_heads(const json& config) {
  for (const char* key : {"layer_types", "layers_block_type"})
    if (const auto types = config.find(key); types != config.end() && types->is_array() && !types->empty())
      for (const char* other : {"mamba", "conv", "moe", "mlp"})
        if (types->front() == other) return true;
  return false;
}

/// The config as files have it. A Granite 4 without state spaces is a plain Granite there, and llama.cpp runs it as
/// nothing else; a Nemotron-H with experts has a name of its own, and so has a Qwen whose positions have three numbers.
json config_of_file(const Model& model) {
  json config = *model.config;
  if (model.family == "nemotron_h" && std::ranges::count(config.at("layers_block_type"), json("moe")) > 0)
    config["model_type"] = "nemotron_h_moe";
  const bool may_see = model.family == "qwen2" || model.family == "qwen3";
  if (may_see && config.at("rope_parameters").contains("mrope_section"))
    config["model_type"] = model.family + "_vl_text";
  if (model.family != "granitemoehybrid" || std::ranges::count(config.at("layer_types"), json("mamba")) > 0)
    return config;
  check(config.at("num_local_experts") == 0 && config.at("position_embedding_type") == "rope",
        "a GGUF file can't say a granitemoehybrid without state spaces that has experts, or no positions");
  config.update({{"model_type", "granite"}, {"intermediate_size", config.at("shared_intermediate_size")}});
  return config;
}

/// A folder's name, or what a GGUF file calls itself.
std::string name_of_model(const std::filesystem::path& model) {
  if (!is_gguf(model)) return model.filename().generic_string();
  const GgufShards shards(model);
  const GgufMetadata& metadata = shards.metadata();
  return metadata.has("general.name") ? std::string(metadata.text("general.name")) : model.stem().generic_string();
}

}  // namespace

GgufLosses write_model_as_gguf(const std::filesystem::path& file, const Model& model, const Weights& weights,
                               const std::filesystem::path& folder, const Mixture& mixture,
                               const LoadProgress& progress, const Weights::Change& change) {
  const json config = config_of_file(model);
  const GgufArchitecture* architecture = architecture_of_model(config.at("model_type").get<std::string>());
  check(model.family != "gemma3_text" || model.generates(),
        "GGUF files of gemma3_text with use_bidirectional_attention are not supported");
  check(architecture != nullptr, "GGUF files of {} are not supported; vkformer writes: {}", model.family,
        known_architectures());
  GgufLosses losses;
  std::vector<Target> targets = targets_of(*architecture, model, losses.left_out);
  for (NamedValues& tensor : rotary_tensors(*model.config)) targets.push_back(target_of(std::move(tensor)));
  const auto setting = [&](std::string_view key, std::optional<int64_t> otherwise) {
    const std::optional<int64_t> said = setting_in(config, *architecture, key);
    return said ? *said : otherwise.value();
  };
  const int64_t heads = setting("attention.head_count", {});
  const int64_t kv_heads = setting("attention.head_count_kv", config.value("num_key_value_heads", heads));
  const auto setting_of_rows = [&](std::string_view key, std::optional<int64_t> otherwise) {
    return key == "attention.head_count_kv" ? kv_heads : setting(key, otherwise);
  };
  std::vector<Mixture::Tensor> tensors;
  for (Target& target : targets) {
    std::vector<int64_t>& shape = target.tensor.shape;
    if (target.row && target.row->order == RowOrder::as_rows) {
      const int64_t groups = setting("ssm.group_count", {});
      shape = {groups, shape[0] / groups};
    }
    tensors.push_back(target.tensor);
  }
  const std::vector<DType> types =
      mixture.types_of(tensors,
                       {.layers = setting("block_count", {}),
                        .queries_per_key = starts_without_heads(config) ? 1 : heads / kv_heads,
                        .experts = setting("expert_count", 0),
                        .falcon = architecture->name == "falcon"},
                       &losses.fallbacks);

  GgufPairs pairs;
  pairs.add_text("general.architecture", architecture->name);
  pairs.add_text("general.name", name_of_model(folder));
  pairs.add_integer("general.file_type", mixture.file_type());
  if (mixture.has_blocks()) pairs.add_integer("general.quantization_version", 2);
  add_config(pairs, *architecture, config);
  add_pooling(pairs, *architecture, model, folder);
  add_tokenizer(pairs, folder, config, model.vocabulary);
  if (has_model_json(folder, generation_file)) add_sampling(pairs, load_model_json(folder, generation_file));

  const auto read = [&](const ParameterSpec& part) {
    std::vector<float> values = weights.read(part.name);
    if (change) change(part, values);
    return values;
  };
  write_gguf(file, pairs, sources_of(targets, types, setting_of_rows, read, progress));
  return losses;
}

}  // namespace vkformer
