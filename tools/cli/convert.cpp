// `vkformer convert`: a model folder of any shape, or a GGUF file, as a folder with today's keys, as
// transformers loads it; or as a GGUF file with weights of any type.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "models/adapters/adapter_head.h"
#include "models/embedding/recipe.h"
#include "models/families/registry.h"
#include "models/generation/generation_config.h"
#include "models/gguf/gguf_export.h"
#include "models/model_files.h"
#include "models/seeing/eyes.h"
#include "models/seeing/eyes_export.h"
#include "models/text/older_tokenizer.h"
#include "models/text/tokenizer_files.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

namespace fs = std::filesystem;

struct FolderType {
  std::string_view name, hugging_face;
  FileDType dtype;
};
constexpr FolderType folder_types[] = {
    {"f32", "float32", FileDType::f32}, {"f16", "float16", FileDType::f16}, {"bf16", "bfloat16", FileDType::bf16}};

/// What goes along as it is: settings of generation, the files of tokenizers, how pictures and sound are prepared.
constexpr const char* companions[] = {generation_file,        tokenizer_file,
                                      target_tokenizer_file,  "tokenizer_config.json",
                                      "chat_template.jinja",  "special_tokens_map.json",
                                      "added_tokens.json",    "preprocessor_config.json",
                                      "processor_config.json"};

/// Of a file of eyes.
constexpr std::string_view eye_types[] = {"f32", "f16", "bf16", "q8_0"};

constexpr const char* nothing_written = "nothing was written";

/// The files of a folder that a GGUF file stands for.
void write_gguf_companions(const fs::path& gguf, const fs::path& out) {
  if (has_model_json(gguf, "tokenizer.json"))
    write_tokenizer_files(out, load_model_json(gguf, "tokenizer.json").value().dump() + '\n',
                          load_model_json(gguf, "tokenizer_config.json").value());
  // Without it tokens are drawn, as the file's are; a file of ids alone would make the likeliest ones of them.
  if (has_model_json(gguf, generation_file))
    write_json(out / generation_file, load_model_json(gguf, generation_file).value());
  const JsonObject config = load_model_json(gguf, "config.json");
  if (const EmbeddingRecipe recipe = embedding_recipe(gguf); recipe.said)
    write_pooling(out, recipe.pooling, require_integer(config, "hidden_size", 1, int64_t{1} << 31));
}

void write_folder(const ConvertFlags& flags, const fs::path& given, const Model& model, const Weights& weights,
                  const FolderType& type, const Weights::Change& change) {
  const fs::path out = flags.out;
  const bool existed = fs::exists(out);
  check(!existed || (fs::is_directory(out) && fs::is_empty(out)), "'{}' is not an empty folder; give a new one",
        out.generic_string());
  // Two calls may both have seen that there is none.
  check(fs::create_directories(out) || existed, "'{}' is being written by another process; give a new one",
        out.generic_string());
  try {
    save_weights(weights, out / "model.safetensors", flags.quiet, change, type.dtype);
    if (is_gguf(given)) {
      write_gguf_companions(given, out);
    } else {
      const auto copy = [&](const char* name) {
        if (fs::exists(given / name)) copy_file_atomically(given / name, out / name);
      };
      for (const char* name : companions) copy(name);
      for (const char* name : older_tokenizer_files) copy(name);
      // What was made of those.
      for (const char* name : {tokenizer_file, target_tokenizer_file})
        if (!fs::exists(given / name) && has_model_json(given, name))
          write_file_atomically(out / name, load_model_json(given, name).value().dump() + '\n');
      const auto copy_below = [&](const fs::path& name) {
        if (!fs::exists(given / name)) return;
        fs::create_directories((out / name).parent_path());
        copy_file_atomically(given / name, out / name);
      };
      for (const char* name : embedding_files) copy_below(name);
      for (const std::string& dense : embedding_recipe(given).dense)
        for (const char* name : {"config.json", "model.safetensors", "pytorch_model.bin"})
          copy_below(fs::path(dense) / name);
    }
    nlohmann::json config = *model.config;
    config.erase("dtype");  // transformers reads either, and the first before the second
    config["torch_dtype"] = type.hugging_face;
    write_json(out / "config.json", config);
  } catch (...) {
    std::error_code ignored;  // the first error is the one to tell
    for (const fs::directory_entry& entry : fs::directory_iterator(out, ignored)) fs::remove_all(entry.path(), ignored);
    if (!existed) fs::remove(out, ignored);
    throw;
  }
}

/// "num_beams 4": what a generation_config.json says, for which the file that was made of it has no key.
std::vector<std::string> settings_left_out(const fs::path& folder, const fs::path& gguf) {
  if (!has_model_json(folder, generation_file)) return {};
  const JsonObject given = load_model_json(folder, generation_file), kept = load_model_json(gguf, generation_file);
  std::vector<std::string> left_out;
  for (const auto& [key, value] : given.value().items()) {
    if (kept.has(key) || key == "temperature") continue;  // which says nothing where none is drawn
    const auto alone = JsonObject::make({{key, value}}, generation_file);
    bool told = true;  // what is refused says something, too
    try {
      told = parse_generation_config(alone, {}) != GenerationConfig();
    } catch (const Error&) {
    }
    if (told) left_out.push_back(fmt::format("{} {}", key, printable(value.dump(), 60)));
  }
  return left_out;
}

/// One line, of what was written.
void report(const ConvertFlags& flags, const Model& model, const std::string& dtype, const fs::path& file,
            const char* part = "") {
  if (flags.quiet) return;
  const auto bytes = static_cast<double>(fs::file_size(file));
  print("{}: {}{}, {} parameters, {}, {}\n", flags.out, part, model.family, model.parameter_count(), dtype,
        bytes < 1e6 ? fmt::format("{:.1f} kB", bytes / 1e3) : fmt::format("{:.1f} MB", bytes / 1e6));
}

void convert_eyes(const ConvertFlags& flags, const fs::path& folder, const std::string& dtype) {
  if (!is_gguf(flags.out)) throw UsageError(fmt::format("--mmproj: {} is no .gguf; give a new NAME.gguf", flags.out));
  if (std::ranges::count(eye_types, dtype) == 0)
    throw UsageError(fmt::format("--dtype {}: eyes have {}", dtype, fmt::join(eye_types, ", ")));
  check(!fs::exists(flags.out), "'{}' is there already; give a new file", flags.out);
  const EyesExport eyes(folder);
  EyesExport::Losses losses;
  catch_end_signals();
  with_weights_bar(eyes.weights(), flags.quiet, [&](const LoadProgress& progress) {
    losses = eyes.write(flags.out, weight_type(dtype), [&](uint64_t done) {
      check_no_end_asked(nothing_written);
      progress(done);
    });
  });
  if (losses.pictures)
    say("left out, for GGUF files have no place for it: how pictures are prepared; who reads {} does it as is usual "
        "for such models",
        flags.out);
  if (const std::string fallbacks = losses.fallbacks.text(); !fallbacks.empty()) say("{}", fallbacks);
  report(flags, eyes.model(), dtype, flags.out, "eyes of ");
}

}  // namespace

void convert(const ConvertFlags& flags) {
  const fs::path given = resolve_model_folder(flags.model);
  const bool to_gguf = is_gguf(flags.out);
  const std::string dtype = flags.dtype.empty() ? "f32" : flags.dtype;
  if (flags.mmproj) return convert_eyes(flags, given, dtype);
  const auto* type = std::ranges::find(folder_types, dtype, &FolderType::name);
  if (!to_gguf && type == std::end(folder_types))
    throw UsageError(fmt::format("--dtype {}: a folder has f32, f16 or bf16; give a new NAME.gguf for others", dtype));
  const auto adapter = open_adapter(flags.adapter, given);
  Model model = load_model(given, adapter.get()), adapted = model;
  if (adapter) adapter->adapt(adapted);
  for (size_t i = 0; i < model.parameters.size(); ++i) model.parameters[i].adapter = adapted.parameters[i].adapter;
  const Weights weights(model.parameters, given);
  if (!is_gguf(given) && has_eyes(load_model_json(given, "config.json")))
    say("left out: what sees pictures; {} will have the part that writes alone{}", flags.out,
        to_gguf ? " (--mmproj writes the other, as a file of its own)" : "");
  catch_end_signals();
  const auto merge = [&](const ParameterSpec& parameter, std::span<float> values) {
    check_no_end_asked(nothing_written);
    if (adapter) adapter->merge(adapted, parameter, values);
  };
  if (!to_gguf) {
    write_folder(flags, given, model, weights, *type, merge);
    // That of a model which writes text is its own: see languages_of().
    if (const fs::path tokenizer = tokenizer_folder(given, adapter.get()); tokenizer != given && !model.generates())
      TokenizerFiles::load(tokenizer).writer()(flags.out);
    if (const auto trained = adapter ? languages_of(*adapter) : std::nullopt; trained && !flags.quiet)
      say("the adapter was trained from {} to {}; name these to translate", trained->source, trained->target);
    return report(flags, model, dtype, fs::path(flags.out) / "model.safetensors");
  }
  check(!fs::exists(flags.out), "'{}' is there already; give a new file", flags.out);
  const Mixture mixture(dtype);
  GgufLosses losses;
  with_weights_bar(weights, flags.quiet, [&](const LoadProgress& progress) {
    losses = write_model_as_gguf(flags.out, model, weights, given, mixture, progress, merge);
  });
  constexpr const char* no_place = "left out, for GGUF files have no place for";
  if (!losses.left_out.empty())
    say("{} them: {}{}", no_place, fmt::join(losses.left_out, ", "),
        model.generates() ? "" : "; the file gives embeddings: `vkformer embed`");
  if (const auto settings = settings_left_out(given, flags.out); !settings.empty())
    say("{} these settings: {}", no_place, fmt::join(settings, ", "));
  if (const std::string fallbacks = losses.fallbacks.text(); !fallbacks.empty()) say("{}", fallbacks);
  report(flags, load_model(flags.out), dtype, flags.out);
}

}  // namespace vkformer
