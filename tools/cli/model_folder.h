#pragma once
// A model on the command line, with what is said of it there.

#include <filesystem>

#include "models/adapters/adapter_files.h"
#include "models/model_folder.h"
#include "models/weights.h"

namespace vkformer {

/// The adapter in a folder, or in a run folder's latest checkpoint; nullptr for an empty name. Throws Error when there
/// is none. Says so on stderr when it was trained for another model than this.
std::unique_ptr<AdapterFiles> open_adapter(const std::string& given, const std::filesystem::path& model);

/// The languages of the pairs that an adapter was trained on, as its tokenizer_config.json has them.
struct AdapterLanguages {
  std::string source, target;
};
/// None where it names none. Throws Error for a file that can't be read.
std::optional<AdapterLanguages> languages_of(const AdapterFiles& adapter);

/// Tells the weights and config of one model folder, or GGUF file, from those of another.
std::string base_print(const std::filesystem::path& folder);

/// What tables call that.
std::string weights_text(const std::filesystem::path& files, const std::string& dtype);
/// Of --cache-dtype, as GeneratorShape has it; "": nothing.
std::optional<DType> cache_type(const std::string& name);

/// The model of such a folder, its weights stored like that, with an adapter if there is one.
Model model_to_generate(const std::filesystem::path& folder, const std::string& dtype,
                        const AdapterFiles* adapter = nullptr);
/// The same without a head: see without_head(). A tower that reads stays as it is; of two towers it is that one.
Model model_to_embed(const std::filesystem::path& folder, const std::string& dtype, const AdapterFiles* adapter);

/// The same of a model that sees: without a head of classes, of two towers the whole.
Model model_to_see(const std::filesystem::path& folder, const std::string& dtype, const AdapterFiles* adapter);

/// Where the tokenizer lies that goes with both: the adapter's folder, if it has one.
std::filesystem::path tokenizer_folder(const std::filesystem::path& model, const AdapterFiles* adapter);

/// Says which weights of such a model are in another type than `dtype`, since their rows are no whole blocks of it.
void tell_fallbacks(const Model& model, const std::string& dtype, bool quiet);

/// Throws Error, naming what was `given`, for a model that reads sound or sees pictures.
void check_reads_text(const Model& model, const std::string& given);

/// The model of a folder, of a config.json, or of a GPT-2 shape LAYERSxWIDTHxHEADS[:VOCABULARY[:CONTEXT]] such as
/// "4x128x4:65:64" (without dropout). Throws UsageError for anything else.
Model model_or_shape(const std::string& text);

/// Lengths of the prompts that `asked` means for it, with `context` positions (0: the model's own): nothing is 64
/// tokens, or as many as fit. Throws Error for longer ones.
std::vector<int64_t> prompt_lengths(const std::vector<int64_t>& asked, const Model& model, int64_t context);

/// A config.json by itself. Throws Error, for a file of weights with what to give instead.
JsonObject load_config_file(const std::filesystem::path& file);

/// Loads a model's parameters, with a bar on a terminal when that takes long. Unless quiet, says on stderr, in a line
/// each, which tensors of the files are skipped and which parameters they leave out.
void load_weights(const Weights& weights, Store& store, bool quiet);
/// The same, and the adapter that the model was given.
void load_weights(const Weights& weights, const Model& model, const AdapterFiles* adapter, Store& store, bool quiet);
/// A store of a model's constants and loaded parameters, the adapter's among them if it was given one; in host memory
/// what a device without room for usual batches has to leave there (see make_room()).
std::shared_ptr<Store> load_store(Backend& backend, const Model& model, const Weights& weights, bool quiet,
                                  const AdapterFiles* adapter = nullptr);
/// Runs `work`, which reads the weights, with the same bar and lines.
void with_weights_bar(const Weights& weights, bool quiet, const std::function<void(const LoadProgress&)>& work);
/// The same for Weights::save().
void save_weights(const Weights& weights, const std::filesystem::path& file, bool quiet,
                  const Weights::Change& change = {}, FileDType dtype = FileDType::f32);
/// "skipped 2 tensors the model does not use: a, b"; "" when there are none.
std::string skipped_line(const std::vector<std::string>& extra);

}  // namespace vkformer
