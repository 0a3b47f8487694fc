#pragma once
// A model with its weights on a device, and what can be asked of it.

#include <filesystem>
#include <list>
#include <optional>
#include <variant>

#include "models/classification/answerer.h"
#include "models/classification/classifier.h"
#include "models/classification/tagger.h"
#include "models/embedding/embedder.h"
#include "models/filling/masked_words.h"
#include "models/generation/beam_search.h"
#include "models/generation/generation.h"
#include "models/generation/generation_config.h"
#include "models/id_batch.h"
#include "models/inspection/attention_maps.h"
#include "models/transcription/transcriber.h"
#include "python/bindings/folder_texts.h"
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
  LoadedModel(LoadedWeights weights, std::shared_ptr<const FolderTexts> texts)
      : weights_(std::move(weights)), texts_(std::move(texts)) {}
  ~LoadedModel();

  const Model& model() const { return *weights_.model; }
  Session& session() const { return *weights_.session; }
  Store& store() const { return *weights_.store; }
  const FolderTexts& texts() const { return *texts_; }
  /// Names of the classes of a classifier or a tagger; none of another model.
  std::vector<std::string> labels() const;
  /// The parameter of that name. Throws Error where there is none.
  const ParameterSpec& parameter(const std::string& name) const;

  // Each of these has the session to itself meanwhile, as Running does.

  /// Of the programs that the last run() or write() ran last; none unless the session profiles.
  std::vector<ProgramTimings> timings();
  /// What the model gives for a batch: logits, or the hidden states before its head.
  enum class Result : uint8_t { logits, hidden };
  Floats run(const IdBatch& batch, Result result);
  std::vector<AttentionMap> attention(const InspectedText& text);
  /// A vector for each text, row after row; `query`: with what the model wants before a question.
  Floats embed(const std::vector<std::string>& texts, bool query, int64_t batch_positions);
  using TextOrPair = std::pair<std::string, std::optional<std::string>>;
  /// The probability of each class for each text.
  Floats classify(const std::vector<TextOrPair>& texts, int64_t batch_positions);
  /// Classes that the model was not trained on, see CandidateClaims.
  struct Candidates {
    std::vector<std::string> names;
    std::string hypothesis;
    bool several = false;  ///< may hold together
  };
  /// The probability of each candidate for each text.
  Floats classify_among(const std::vector<std::string>& texts, const Candidates& candidates, int64_t batch_positions);
  /// FilledText::json() of each text, with `most` candidates for a mask.
  nlohmann::json fill(const std::vector<std::string>& texts, size_t most, int64_t batch_positions);
  /// tags_json() of the words of each text.
  nlohmann::json tag(const std::vector<std::vector<std::string>>& texts, int64_t batch_positions);
  /// answer_json() of each question and its context; `stride`: see stride_of().
  nlohmann::json answer(const std::vector<std::pair<std::string, std::string>>& asked, int64_t stride,
                        int64_t batch_positions);

  /// Of each row of ids the natural logarithm of each one's probability but the first's; rows longer than the context
  /// in windows that share half of it.
  std::vector<std::vector<float>> log_probabilities(const std::vector<std::vector<int32_t>>& rows);

  /// transcript_json() of a recording: a file, or samples at the model's rate.
  using Recording = std::variant<std::filesystem::path, std::span<const float>>;
  nlohmann::json transcribe(const Recording& recording, const SpeechTask& task, int64_t beams);

  struct Writing {
    GenerationConfig config;
    int64_t batch = 8;  ///< prompts side by side
    /// Of a single prompt without beams: sees the ids behind it, and says whether to go on.
    std::function<bool(std::span<const int32_t> written)> goes_on = {};
  };
  /// What the model writes behind each prompt, or for each source: best first, without prompt, start and end.
  std::vector<std::vector<Hypothesis>> write(const std::vector<std::vector<int32_t>>& prompts, const Writing& asked);
  /// The same of many sources, those of like length together, in batches of at most `positions`; where nothing says
  /// how long, as long as SearchByLength does.
  std::vector<std::vector<Hypothesis>> write_by_length(const std::vector<std::vector<int32_t>>& sources,
                                                       const GenerationConfig& config, int64_t positions);

 private:
  struct Recorded {
    BatchShape shape;
    Result result;
    std::unique_ptr<Program> program;
  };
  Program& program(const BatchShape& shape, Result result);
  /// What each batch of texts gives, by text.
  std::vector<std::vector<float>> class_logits(const TokenTexts& texts, int64_t batch_positions);
  /// Tokens that a text may have.
  int64_t most_positions() const { return model().context > 0 ? model().context : usual_positions; }
  void keep_timings(const Generator& generator);
  Generator& generator(GeneratorShape shape);
  /// Some of the prompts, from the `first` on.
  std::vector<std::vector<Hypothesis>> write_batch(std::span<const std::vector<int32_t>> prompts, size_t first,
                                                   const Writing& asked);

  LoadedWeights weights_;
  std::shared_ptr<const FolderTexts> texts_;
  std::list<Recorded> programs_;           ///< the last few, the latest first
  std::unique_ptr<Generator> generator_;   ///< the last one,
  GeneratorShape generator_shape_;         ///< and what it was made for
  std::shared_ptr<const Model> headless_;  ///< what embed() runs
  std::unique_ptr<Embedder> embedder_;
  std::unique_ptr<Classifier> classifier_;
  std::unique_ptr<MaskedWords> masked_words_;
  std::unique_ptr<Tagger> tagger_;
  std::unique_ptr<Answerer> answerer_;
  /// What transcribe() hears with.
  struct Ear {
    int64_t beams;
    MelSettings mel;
    Transcriber transcriber;
  };
  std::unique_ptr<Ear> ear_;
  std::vector<ProgramTimings> timings_;
};

}  // namespace vkformer::python
