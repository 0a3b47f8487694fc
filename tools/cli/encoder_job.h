#pragma once
// What jobs that put a head on an encoder have in common.

#include "models/data/text_data.h"
#include "models/families/config_keys.h"
#include "tools/cli/tokenizer_files.h"
#include "tools/cli/train_job.h"

namespace vkformer {

/// What an encoder reads.
struct EncoderText {
  TokenizerFiles files;
  Tokenizer tokenizer;
  int32_t padding = 0;

  /// That of a resumed run's checkpoint, of --tokenizer or of --from. Throws UsageError, naming the job's `option`
  /// ("--labels"), when there is none, and Error for one without a token for padding.
  static EncoderText load(const TrainFlags& flags, const std::filesystem::path& checkpoint, const char* option);
  /// `config`: of the model, which may name the padding of a tokenizer that has none. Throws Error where neither does.
  explicit EncoderText(TokenizerFiles from, const JsonObject* config = nullptr);
};

/// The config of a run's model with its head, by its checkpoint.
JsonObject config_of_run(const TrainFlags& flags, const std::filesystem::path& checkpoint);
/// The names of the classes that a run tells apart, by its checkpoint.
std::vector<std::string> classes_of_run(const TrainFlags& flags, const std::filesystem::path& checkpoint);

struct JobHead {
  const char* architecture;               ///< see architecture_with_head(); empty: none
  std::vector<std::string> classes = {};  ///< their names; none: the vocabulary's tokens
  Problem problem = Problem::one_class;   ///< of classes of texts
  /// Parts of the names of its parameters: where a folder was trained for something else, or other classes, `own` begin
  /// anew, and `shared` if it has none. A line says so when weights are loaded.
  std::vector<const char*> own = {}, shared = {};
  int64_t rows = 32;  ///< most of a batch where the flags have none: small data needs more than a few steps an epoch
};

/// What a config of `transformers` says of a model with classes.
nlohmann::json keys_of_head(const JsonObject& config, const JobHead& head);
/// Marks what of a model from such a config's folder begins anew: nothing where its head is the same.
void begin_head_anew(Model& model, const JobHead& head, const JsonObject& from);

/// A job with its model and text. Sets the flags' context and batch where they have none.
TrainJob encoder_job(TrainFlags& flags, const std::filesystem::path& checkpoint, const EncoderText& text,
                     const JobHead& head);

/// Its batches, as the flags say; `targets`: of a row, see TextData.
std::unique_ptr<TextData> encoder_data(const TrainFlags& flags, const Model& model, TextData::Split training,
                                       TextData::Split validation, int64_t targets);

}  // namespace vkformer
