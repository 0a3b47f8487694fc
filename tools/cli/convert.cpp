// `vkformer convert`: a model folder of any shape as one with f32 weights and today's keys, as transformers loads it.

#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"

namespace vkformer {

namespace {

namespace fs = std::filesystem;

/// What goes along as it is: settings of generation, and the files of tokenizers.
constexpr const char* companions[] = {"generation_config.json",
                                      "tokenizer.json",
                                      "tokenizer_config.json",
                                      "tokenizer.model",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "vocab.json",
                                      "merges.txt",
                                      "vocab.txt",
                                      "spiece.model",
                                      "sentencepiece.bpe.model",
                                      "source.spm",
                                      "target.spm"};

}  // namespace

void convert(const ConvertFlags& flags) {
  const fs::path folder = resolve_model_folder(flags.model), out = flags.out;
  const Model model = load_model(folder);
  const Weights weights(model.parameters, folder);
  const auto adapter = open_adapter(flags.adapter);
  Model adapted = model;
  if (adapter) adapter->adapt(adapted);
  const auto merge = [&](const ParameterSpec& parameter, std::span<float> values) {
    if (adapter) adapter->merge(adapted, parameter, values);
  };
  const bool existed = fs::exists(out);
  check(!existed || (fs::is_directory(out) && fs::is_empty(out)), "'{}' is not an empty folder; give a new one",
        out.string());
  fs::create_directories(out);
  try {
    save_weights(weights, out / "model.safetensors", flags.quiet, merge);
    for (const char* name : companions)
      if (fs::exists(folder / name)) fs::copy_file(folder / name, out / name);
    write_json(out / "config.json", *model.config);
  } catch (...) {
    std::error_code ignored;  // the first error is the one to tell
    for (const fs::directory_entry& entry : fs::directory_iterator(out, ignored)) fs::remove(entry.path(), ignored);
    if (!existed) fs::remove(out, ignored);
    throw;
  }
}

}  // namespace vkformer
