#include "tools/cli/model_folder.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/adapters/adapter_head.h"
#include "models/embedding/embedder.h"
#include "models/families/registry.h"
#include "models/families/vision/two_towers.h"
#include "models/model_files.h"
#include "models/parameters.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/torch_weights.h"
#include "runtime/files/utf8.h"
#include "runtime/files/weight_files.h"
#include "runtime/host/files.h"
#include "tools/cli/content_print.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

namespace {

/// Whether a file of the model, or its folder, was written or moved to where it is after `file` was written. (What is
/// moved or unpacked keeps the time that it was written at.)
bool any_put_there_since(const std::filesystem::path& model, const std::filesystem::path& file) {
  const auto times = host::file_times(file);
  if (!times) return true;
  const auto later = [written = times->written](const std::filesystem::path& path) {
    const auto other = host::file_times(path);
    return !other || other->changed > written;
  };
  const auto whole = std::filesystem::absolute(model);
  const auto folder = is_gguf(model) ? whole.parent_path() : whole;
  return later(folder) || std::ranges::any_of(std::filesystem::directory_iterator(folder), later);
}

/// An adapter of `vkformer train` knows its model, also where that lies in another place. Where it lay and nobody has
/// written since, it need not be read for that.
void warn_of_another_base(const std::filesystem::path& adapter, const std::filesystem::path& model) {
  const std::filesystem::path state = adapter / "state.json";
  if (!std::filesystem::exists(state)) return;
  const JsonObject base = require_object(JsonObject::load(state), "base");
  const std::string path = require_string(base, "path");
  if (path == std::filesystem::absolute(model).lexically_normal() && !any_put_there_since(model, state)) return;
  if (base_print(model) != require_string(base, "fingerprint"))
    say("{} is not the model this adapter was trained for, which was {}", model.generic_string(), path);
}

}  // namespace

std::unique_ptr<AdapterFiles> open_adapter(const std::string& given, const std::filesystem::path& model) {
  if (given.empty()) return nullptr;
  const std::filesystem::path folder = resolve_adapter_folder(given);
  auto adapter = std::make_unique<AdapterFiles>(folder);
  warn_of_another_base(folder, model);
  return adapter;
}

std::optional<AdapterLanguages> languages_of(const AdapterFiles& adapter) {
  const auto file = adapter.folder() / "tokenizer_config.json";
  if (!std::filesystem::exists(file)) return std::nullopt;
  const JsonObject settings = JsonObject::load(file);
  if (!settings.has("src_lang") || !settings.has("tgt_lang")) return std::nullopt;
  return AdapterLanguages{require_string(settings, "src_lang"), require_string(settings, "tgt_lang")};
}

std::string base_print(const std::filesystem::path& folder) {
  if (is_gguf(folder)) return content_print(MappedFile(folder).text());
  std::string print = content_print(MappedFile(folder / "config.json").text());
  const auto add = [&](const auto& weights) {
    for (const auto& file : weights.files())
      print += '+' + content_print({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
    return print;
  };
  return TorchWeights::are_in(folder) ? add(TorchWeights(folder)) : add(WeightFiles(folder));
}

std::string weights_text(const std::filesystem::path& files, const std::string& dtype) {
  return !dtype.empty() ? dtype : stays_as_filed(files) ? "as filed" : "f32";
}

std::optional<DType> cache_type(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(float_type(name));
}

Model model_to_generate(const std::filesystem::path& folder, const std::string& dtype, const AdapterFiles* adapter) {
  Model model = load_model(folder, adapter);
  store_weights_as(model, folder, dtype);
  if (adapter) adapter->adapt(model);
  return model;
}

Model model_to_embed(const std::filesystem::path& folder, const std::string& dtype, const AdapterFiles* adapter) {
  Model model = load_model(folder, adapter);
  if (adapter) adapter->adapt(model);
  if (has_two_towers(model)) model = text_tower(model);
  if (model.task != Task::vector) model = without_head(std::move(model));
  store_weights_as(model, folder, dtype);
  return model;
}

Model model_to_see(const std::filesystem::path& folder, const std::string& dtype, const AdapterFiles* adapter) {
  Model model = load_model(folder, adapter);
  if (adapter) adapter->adapt(model);
  if (model.task != Task::vector && !has_two_towers(model)) model = without_head(std::move(model));
  store_weights_as(model, folder, dtype);
  return model;
}

std::filesystem::path tokenizer_folder(const std::filesystem::path& model, const AdapterFiles* adapter) {
  return adapter && has_model_json(adapter->folder(), tokenizer_file) ? adapter->folder() : model;
}

void tell_fallbacks(const Model& model, const std::string& dtype, bool quiet) {
  if (dtype.empty() || quiet) return;
  if (const std::string text = fallbacks_of(model, weight_type(dtype)).text(); !text.empty()) say("{}", text);
}

void check_reads_text(const Model& model, const std::string& given) {
  check(model.frame_columns == 0, "{} reads sound, not text; use transcribe", given);
  check(!model.sees(), "{} sees pictures; use classify or embed", given);
}

Model model_or_shape(const std::string& text) {
  if (std::filesystem::is_directory(text) || (std::filesystem::exists(text) && is_gguf(text)))
    return make_model(load_model_json(resolve_model_folder(text), "config.json"));
  if (std::filesystem::exists(text)) return make_model(load_config_file(text));
  long long layers = 0, width = 0, heads = 0, vocabulary = 50257, context = 1024;
  int used = 0;
  const int fields = std::sscanf(text.c_str(), "%lldx%lldx%lld%n:%lld%n:%lld%n", &layers, &width, &heads, &used,
                                 &vocabulary, &used, &context, &used);
  if (fields < 3 || static_cast<size_t>(used) != text.size())
    throw UsageError(fmt::format(
        "{} is neither a folder, nor a .gguf, nor a config.json, nor a shape like 12x768x12:50257:1024", text));
  const nlohmann::json config = {{"model_type", "gpt2"}, {"n_layer", layers},        {"n_embd", width},
                                 {"n_head", heads},      {"vocab_size", vocabulary}, {"n_positions", context},
                                 {"embd_pdrop", 0},      {"attn_pdrop", 0},          {"resid_pdrop", 0}};
  return make_model(JsonObject::parse(config.dump(), text));
}

std::vector<int64_t> prompt_lengths(const std::vector<int64_t>& asked, const Model& model, int64_t context) {
  check(model.context == 0 || context <= model.context, "--context {}: the model has {} positions, as its config says",
        context, model.context);
  const int64_t capacity = context > 0 ? context : model.context > 0 ? model.context : usual_positions;
  if (asked.empty()) return {std::min<int64_t>(64, capacity)};
  const int64_t longest = std::ranges::max(asked);
  check(longest <= capacity, "a prompt of {} tokens does not fit the context of {} positions", longest, capacity);
  return asked;
}

JsonObject load_config_file(const std::filesystem::path& file) {
  for (const char* of_weights : {".safetensors", ".bin", ".pt", ".pth"})
    check(file.extension() != of_weights, "{} holds weights; give the folder that it is in, with its config.json",
          file.generic_string());
  return JsonObject::load(file);
}

void with_weights_bar(const Weights& weights, bool quiet, const std::function<void(const LoadProgress&)>& work) {
  constexpr int64_t mebibyte = 1 << 20;
  constexpr double patience = 0.5;  // seconds
  Progress bar(static_cast<int64_t>(weights.files().bytes()) / mebibyte + 1, quiet, patience);
  work([&](uint64_t done) { bar.show(static_cast<int64_t>(done) / mebibyte, "MiB of weights"); });
  bar.clear();
  if (quiet) return;
  if (!weights.extra().empty()) say("{}", skipped_line(weights.extra()));
  if (!weights.absent().empty())
    say("at their start values, for the files have none that fit: {}", fmt::join(weights.absent(), ", "));
}

void load_weights(const Weights& weights, Store& store, bool quiet) {
  with_weights_bar(weights, quiet, [&](const LoadProgress& progress) { weights.load(store, progress); });
}

void load_weights(const Weights& weights, const Model& model, const AdapterFiles* adapter, Store& store, bool quiet) {
  load_weights(weights, store, quiet);
  if (adapter) adapter->load(store, model);
}

std::shared_ptr<Store> load_store(Backend& backend, const Model& model, const Weights& weights, bool quiet,
                                  const AdapterFiles* adapter) {
  Model placed = model;  // programs find tensors by name, wherever they lie
  make_room(placed, backend);
  auto store = make_model_store(backend, placed);
  load_weights(weights, model, adapter, *store, quiet);
  return store;
}

void save_weights(const Weights& weights, const std::filesystem::path& file, bool quiet, const Weights::Change& change,
                  FileDType dtype) {
  with_weights_bar(weights, quiet, [&](const LoadProgress& progress) { weights.save(file, progress, change, dtype); });
}

std::string skipped_line(const std::vector<std::string>& extra) {
  if (extra.empty()) return "";
  constexpr size_t most = 4;  // of a model that sees there are hundreds
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(extra.size(), most); ++i) names.push_back(printable(extra[i], 120));
  return fmt::format("skipped {} tensor{} the model does not use: {}{}", extra.size(), extra.size() == 1 ? "" : "s",
                     fmt::join(names, ", "),
                     extra.size() > most ? fmt::format(" and {} others", extra.size() - most) : "");
}

}  // namespace vkformer
