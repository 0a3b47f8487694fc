#include "models/embedding/recipe.h"

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "models/model_files.h"
#include "runtime/check.h"
#include "runtime/files/gguf.h"
#include "runtime/files/json_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr std::array poolings{Pooling::mean, Pooling::first, Pooling::last};
constexpr const char* pooling_folder = "1_Pooling";

/// Keys of a Pooling's config.json, all that are true joined to one vector.
constexpr std::pair<const char*, std::optional<Pooling>> modes[] = {
    {"pooling_mode_mean_tokens", Pooling::mean}, {"pooling_mode_cls_token", Pooling::first},
    {"pooling_mode_lasttoken", Pooling::last},   {"pooling_mode_max_tokens", {}},
    {"pooling_mode_mean_sqrt_len_tokens", {}},   {"pooling_mode_weightedmean_tokens", {}},
};

Pooling read_pooling(const JsonObject& config) {
  std::optional<Pooling> chosen;
  for (const auto& [key, pooling] : modes) {
    if (!boolean_or(config, key, false)) continue;
    check(pooling.has_value(), "{}: {} is not supported; the mean, the first and the last token are", config.name(),
          key);
    check(!chosen, "{}: several poolings at once are not supported", config.name());
    chosen = pooling;
  }
  check(chosen.has_value(), "{}: names no pooling", config.name());
  return *chosen;
}

/// Where a module lies, below the model's folder.
std::string path_of(const JsonObject& module) {
  const std::filesystem::path path = require_string(module, "path");
  check(!path.empty() && !path.has_root_path() && std::ranges::count(path, "..") == 0,
        "{}: the path {} of a module does not lie below the model's folder", module.name(),
        in_quotes(path.generic_string()));
  return path.generic_string();
}

/// modules.json is a list, which JsonObject is not.
JsonObject load_list(const std::filesystem::path& file) {
  return JsonObject::make({{"modules", parse_json(MappedFile(file).text(), file.generic_string())}},
                          file.generic_string());
}

void read_modules(const std::filesystem::path& folder, EmbeddingRecipe& recipe) {
  bool normalized = false;
  for (const JsonObject& module : require_objects(load_list(folder / "modules.json"), "modules")) {
    const std::string type = require_string(module, "type"), kind = type.substr(type.rfind('.') + 1);
    if (kind == "Pooling") {
      const auto config = JsonObject::load(folder / path_of(module) / "config.json");
      recipe.pooling = read_pooling(config);
      recipe.counts_prefix = boolean_or(config, "include_prompt", true);
      recipe.said = true;
    } else if (kind == "Dense") {
      check(recipe.said && !normalized, "{}: Dense is supported behind Pooling and before Normalize alone",
            module.name());
      recipe.dense.push_back(path_of(module));
    } else {
      check(kind == "Transformer" || kind == "Normalize",
            "{}: a module {} is not supported; Transformer, Pooling, Dense and Normalize are", module.name(),
            printable(kind, 60));
      normalized = normalized || kind == "Normalize";
    }
  }
}

/// The first of `names` that is a prompt, else the one that goes before all texts, if there is one.
std::string prompt_of(const JsonObject& prompts, std::initializer_list<const char*> names, const std::string& usual) {
  for (const char* name : names)
    if (prompts.has(name)) return require_string(prompts, name);
  return usual.empty() ? "" : require_string(prompts, usual.c_str());
}

EmbeddingRecipe read_folder(const std::filesystem::path& folder) {
  EmbeddingRecipe recipe;
  if (has_model_json(folder, "modules.json")) read_modules(folder, recipe);
  if (has_model_json(folder, "sentence_bert_config.json")) {
    const auto config = JsonObject::load(folder / "sentence_bert_config.json");
    recipe.most_tokens = integer_or(config, "max_seq_length", 0, 1, int64_t{1} << 31);
    recipe.lower_case = boolean_or(config, "do_lower_case", false);
  }
  if (!has_model_json(folder, "config_sentence_transformers.json")) return recipe;
  const auto settings = JsonObject::load(folder / "config_sentence_transformers.json");
  if (!settings.has("prompts")) return recipe;
  const JsonObject prompts = require_object(settings, "prompts");
  const std::string usual = string_or(settings, "default_prompt_name", "");
  recipe.query_prefix = prompt_of(prompts, {"query"}, usual);
  recipe.text_prefix = prompt_of(prompts, {"document", "passage", "corpus"}, usual);
  return recipe;
}

EmbeddingRecipe read_gguf(const std::filesystem::path& file) {
  const GgufShards shards(file);
  const GgufMetadata& metadata = shards.metadata();
  const std::string key = std::string(metadata.text("general.architecture")) + ".pooling_type";
  if (!metadata.has(key)) return {};
  constexpr int64_t by_classifier = 4;
  const int64_t number = metadata.integer(key, 0, by_classifier);
  for (const Pooling pooling : poolings)
    if (gguf_number(pooling) == number) return {.pooling = pooling, .said = true};
  return {};
}

}  // namespace

// ggml counts them from 1 on: 0 is none, and what comes behind is by a classifier.
uint32_t gguf_number(Pooling pooling) { return 1 + static_cast<uint32_t>(pooling); }

void write_pooling(const std::filesystem::path& folder, Pooling pooling, int64_t width) {
  nlohmann::json config = {{"word_embedding_dimension", width}};
  for (const auto& [key, mode] : modes) config[key] = mode == pooling;
  std::filesystem::create_directories(folder / pooling_folder);
  write_json(folder / pooling_folder / "config.json", config);
  const auto module = [](int index, const char* path, const char* kind) {
    return nlohmann::json{{"idx", index},
                          {"name", std::to_string(index)},
                          {"path", path},
                          {"type", fmt::format("sentence_transformers.models.{}", kind)}};
  };
  write_json(folder / "modules.json",
             nlohmann::json::array({module(0, "", "Transformer"), module(1, pooling_folder, "Pooling"),
                                    module(2, "2_Normalize", "Normalize")}));
}

EmbeddingRecipe embedding_recipe(const std::filesystem::path& model) {
  return is_gguf(model) ? read_gguf(model) : read_folder(model);
}

}  // namespace vkformer
