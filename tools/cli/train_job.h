#pragma once
// What a run trains, and on what: a model with the vocabulary of its text, and the batches.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/data/training_data.h"
#include "tools/cli/commands.h"
#include "tools/cli/job_scorer.h"
#include "tools/cli/run_files.h"

namespace vkformer {

struct TrainJob {
  std::unique_ptr<Model> model;  ///< stays where it is
  std::unique_ptr<TrainingData> data;
  nlohmann::json ids = nlohmann::json::object();   ///< keys of config.json: ids of special tokens
  nlohmann::json head = nlohmann::json::object();  ///< the same of its head, which an adapter's base may lack
  std::function<void(const std::filesystem::path&)> write_text;  ///< tokenizer.json and what belongs to it
  std::string generation;                                        ///< generation_config.json of what it goes on from
  std::string summary;                                           ///< of the data, in a line
  double tokens_per_byte = 0;                                    ///< of what a running text is validated on
  bool perplexity = false;                                       ///< evaluations name it: e^loss
  std::unique_ptr<JobScorer> scorer;                             ///< may be absent
  /// What the data needs of the model as a new run begins: called before its first batch. Absent: nothing.
  std::function<void(Backend&, Trainer&)> begin;
  /// That to and from a checkpoint's folder. Absent: nothing.
  std::function<void(const std::filesystem::path&)> write_state, read_state;
};

/// What the model and the checkpoints of a job must know of its tokens.
struct JobTokens {
  int64_t count = 0;
  int64_t source_count = 0;  ///< of an encoder with a vocabulary of its own; 0: it shares the other one
  nlohmann::json ids = nlohmann::json::object();            ///< keys of a new model's config.json: special tokens
  std::function<void(const std::filesystem::path&)> write;  ///< tokenizer.json and what belongs to it
};

/// The config.json that a new run begins with: the flags' own with what --set changes, or that of the folder they start
/// from.
JsonObject first_config(const TrainFlags& flags);

/// Whether the checkpoint of a run that is resumed has a model's config.json: an adapter's has not.
bool has_config(const TrainFlags& flags, const std::filesystem::path& checkpoint);
/// That, or for others what first_config() says.
JsonObject config_of_job(const TrainFlags& flags, const std::filesystem::path& checkpoint);

/// The model of the flags' config or of the folder they start from, with some keys changed and, if asked for, another
/// dropout and, of a new model, as many positions as --context says; with a checkpoint its own. Throws UsageError for
/// a --set of a key that is one of `changes`, or that nothing reads.
Model model_of_job(const TrainFlags& flags, const std::filesystem::path& checkpoint, const nlohmann::json& changes);

/// A job with nothing but its model, of these tokens, and what it writes of them. `changes`: keys of the config of
/// every run that resumes none. Throws Error when there are more tokens than the model knows, or other vocabularies.
TrainJob job_of_tokens(const TrainFlags& flags, const std::filesystem::path& checkpoint, const JobTokens& tokens,
                       nlohmann::json changes = nlohmann::json::object());

/// What a model reads: "vocabulary 65", or "pictures of 32 x 32".
std::string input_text(const Model& model);

/// Sets the most positions of a sequence where the flags have none: the model's. Throws Error for more than it has.
void set_context(TrainFlags& flags, const Model& model);

/// A causal model on one text, of characters or bytes. `checkpoint`: of a run that is resumed, or empty. Sets the
/// flags' context where they have none.
TrainJob text_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// An encoder-decoder on pairs of lines, of sub-words that both sides share.
TrainJob pairs_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// A causal model on prompts and completions, texts or talks. Sets the flags' context and batch where they have none.
TrainJob prompts_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// A causal model on pairs of texts, of which one is preferred. Sets the flags' context, batch and dropout where they
/// have none.
TrainJob preferences_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// What makes vectors of texts on rows of similar ones. Sets the flags' context and batch where they have none.
TrainJob similar_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// A classifier on rows of a text, or two, and its label. Sets the flags' context and batch where they have none.
TrainJob labels_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// An encoder on lines of a text, some of whose tokens are masked. Sets the flags' context and batch where they have
/// none.
TrainJob masked_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// A model of token classes on words and their tags. Sets the flags' context and batch where they have none.
TrainJob tags_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// A model that finds answers, on questions and texts. Sets the flags' context, stride and batch where they have none.
TrainJob answers_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// XLNet's language model on one text, of sub-words. Sets the flags' context where they have none.
TrainJob permuted_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// A model that sees on pictures and their labels. Sets the flags' context and batch where they have none.
TrainJob pictures_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// Whisper on recordings and what is said in them.
TrainJob speech_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);
/// An encoder-decoder on one text with gaps, of sub-words. Sets the flags' context where they have none.
TrainJob spans_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint);

}  // namespace vkformer
