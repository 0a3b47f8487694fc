#pragma once
// A model with its weights on a device, and what can be asked of it.

#include <filesystem>
#include <list>
#include <optional>

#include "models/classification/classifier.h"
#include "models/embedding/embedder.h"
#include "models/generation/beam_search.h"
#include "models/generation/generation.h"
#include "models/generation/generation_config.h"
#include "models/id_batch.h"
#include "models/inspection/attention_maps.h"
#include "models/text/prompt_text.h"
#include "python/bindings/session.h"

namespace vkformer::python {

/// A tensor of results.
struct Floats {
  std::vector<int64_t> shape;
  std::vector<float> values;
};

/// Where weights lie: on a session's device, for a model's graphs.
struct LoadedWeights {
  std::shared_ptr<Session> session;
  std::shared_ptr<const Model> model;
  std::shared_ptr<Store> store;
  std::shared_ptr<Workspace> workspace;
};

class LoadedModel {
 public:
  /// `path`, `dtype`: see resolve_model_folder() and store_weights_as(); `adapter`: a folder, empty for none. Throws
  /// Error.
  static std::shared_ptr<LoadedModel> load(const std::filesystem::path& path, const std::string& device,
                                           const std::string& dtype, const std::filesystem::path& adapter,
                                           bool profile);
  /// `folder`: of its tokenizer and how it generates; empty: there is none.
  LoadedModel(LoadedWeights weights, std::filesystem::path folder)
      : weights_(std::move(weights)), folder_(std::move(folder)) {}
  ~LoadedModel();

  const Model& model() const { return *weights_.model; }
  Session& session() const { return *weights_.session; }
  Store& store() const { return *weights_.store; }
  const std::filesystem::path& folder() const { return folder_; }
  /// It has been written there, with the same tokenizer.
  void set_folder(std::filesystem::path folder) { folder_ = std::move(folder); }
  /// Of the folder, read when first asked for. Throws Error where there is none. `language`: see PromptText.
  std::shared_ptr<const PromptText> text(const std::string& language = {});
  /// Names of a classifier's classes.
  std::vector<std::string> labels() const;
  /// The parameter of that name. Throws Error where there is none.
  const ParameterSpec& parameter(const std::string& name) const;

  /// Of the programs that the last run() or write() ran last; none unless the session profiles.
  const std::vector<ProgramTimings>& timings() const { return timings_; }

  // Each of these has the session to itself meanwhile, as Running does.

  /// What the model gives for a batch: logits, or the hidden states before its head.
  enum class Result : uint8_t { logits, hidden };
  Floats run(const IdBatch& batch, Result result);
  std::vector<AttentionMap> attention(const InspectedText& text);
  /// A vector for each text, row after row; `query`: with what the model wants before a question.
  Floats embed(const std::vector<std::string>& texts, bool query, int64_t batch_positions);
  /// The probability of each class for each text.
  Floats classify(const std::vector<std::pair<std::string, std::optional<std::string>>>& texts,
                  int64_t batch_positions);

  struct Writing {
    GenerationConfig config;
    int64_t batch = 8;         ///< prompts of a decoder side by side
    int64_t positions = 2048;  ///< of a batch of sources
    /// Of a single prompt without beams: sees the ids behind it, and says whether to go on.
    std::function<bool(std::span<const int32_t> written)> goes_on = {};
  };
  /// What the model writes behind each prompt, or for each source: best first, without prompt, start and end.
  std::vector<std::vector<Hypothesis>> write(const std::vector<std::vector<int32_t>>& prompts, const Writing& asked);

 private:
  struct Recorded {
    BatchShape shape;
    Result result;
    std::unique_ptr<Program> program;
  };
  Program& program(const BatchShape& shape, Result result);
  void keep_timings(const Generator& generator);
  Generator& generator(GeneratorShape shape, int64_t prompt);
  std::vector<std::vector<Hypothesis>> write_behind(std::span<const std::vector<int32_t>> prompts,
                                                    const Writing& asked);

  LoadedWeights weights_;
  std::filesystem::path folder_;
  std::shared_ptr<const PromptText> text_;
  std::list<Recorded> programs_;           ///< the last few, the latest first
  std::unique_ptr<Generator> generator_;   ///< the last one,
  GeneratorShape generator_shape_;         ///< and what it was made for
  std::shared_ptr<const Model> headless_;  ///< what embed() runs
  std::unique_ptr<Embedder> embedder_;
  std::unique_ptr<Classifier> classifier_;
  std::vector<ProgramTimings> timings_;
};

}  // namespace vkformer::python
