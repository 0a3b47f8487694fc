#pragma once
// The files of a tokenizer, as they are copied from a folder to the checkpoints of a run.

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "models/model_folder.h"
#include "models/text/languages.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_training.h"

namespace vkformer {

struct TrainFlags;

class TokenizerFiles {
 public:
  using Write = std::function<void(const std::filesystem::path& folder)>;
  /// Of a folder with a tokenizer.json, or with older files, which are copied beside the one made of them. Throws
  /// Error.
  static TokenizerFiles load(const std::filesystem::path& folder);
  /// Of the target side of a model, where it has one of its own.
  static std::optional<TokenizerFiles> load_target(const std::filesystem::path& folder);
  /// `content`: of tokenizer.json. `name`: what errors call it.
  TokenizerFiles(nlohmann::json content, std::string name, Write write)
      : content_(std::move(content)), name_(std::move(name)), write_(std::move(write)) {}

  Tokenizer tokenizer() const;
  Languages languages() const;
  /// The same for texts of `source`, one of its languages; what is written says so to transformers, and that
  /// translations are of `target`. Throws Error.
  TokenizerFiles of_languages(const std::string& source, const std::string& target) const;
  const std::string& name() const { return name_; }
  /// content_print() of tokenizer.json.
  std::string print() const;
  /// tokenizer.json and what transformers reads beside it.
  void write(const std::filesystem::path& folder) const { write_(folder); }
  const Write& writer() const { return write_; }
  /// Writes tokenizer.json as what load_target() reads, beside the source's.
  void write_target(const std::filesystem::path& folder) const;

 private:
  nlohmann::json content_;
  std::string name_;
  Write write_;
};

/// The ids of a long text, without special tokens around it. Throws Error, with `name`, for what is not UTF-8.
std::vector<int32_t> encode_sections(const Tokenizer& tokenizer, std::string_view text, const std::string& name);

/// The ids that sequences are filled up and ended with, and that a decoder begins with.
struct SpecialIds {
  int32_t padding = 0, end = 0, decoder_start = 0;
};
/// By its usual names.
std::optional<int32_t> padding_id(const Tokenizer& tokenizer);
/// By their usual names; a decoder begins with padding, as in Marian and T5. Throws Error when there are none.
SpecialIds special_ids(const Tokenizer& tokenizer, const std::string& name);
/// Keys of a new encoder-decoder's config.
nlohmann::json keys_of(const SpecialIds& ids);
/// Those of a config, or `otherwise`.
SpecialIds ids_in(const nlohmann::json& config, const SpecialIds& otherwise);

/// Where a job's tokenizer lies: in the checkpoint that is resumed, --tokenizer, or --from; empty: nowhere yet.
std::filesystem::path tokenizer_folder(const TrainFlags& flags, const std::filesystem::path& checkpoint);

/// A tokenizer of the flags' kind and size.
TokenizerFiles make_tokenizer(const TrainFlags& flags, TokenizerTraining::Layout layout,
                              const std::vector<std::string>& lines);

}  // namespace vkformer
