#pragma once
// How a model generates, with the names, defaults and meaning of Hugging Face's generation_config.json.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "models/generation/token_constraint.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// When beam search leaves a source that has num_beams finished hypotheses: at once (`yes`); when the best running
/// beam, scored at its current length, is no better than the worst of them (`no`); or when it could not get better at
/// any length (`never`, which differs from `no` only for a positive length penalty).
enum class EarlyStopping : uint8_t { no, yes, never };

/// What makes tokens that were there lately less likely, as in llama.cpp: the score of each that occurs `count` times
/// among the last ones is divided by `repeat` if positive, else multiplied by it, then less `frequency` * count and
/// less `presence`.
struct RecentPenalties {
  double repeat = 1;     ///< 1: off
  double presence = 0;   ///< 0: off
  double frequency = 0;  ///< 0: off
  int64_t last = 64;     ///< how many tokens, prompt included; 0: none; -1: all

  bool operator==(const RecentPenalties&) const = default;
  bool none() const { return last == 0 || (repeat == 1 && presence == 0 && frequency == 0); }
};

struct GenerationConfig {
  std::optional<int64_t> max_new_tokens;  ///< goes before max_length
  std::optional<int64_t> max_length;      ///< prompt included
  int64_t usual_new_tokens = 20;          ///< where neither is given; no key of the file
  std::optional<int64_t> min_new_tokens;  ///< goes before min_length
  int64_t min_length = 0;                 ///< prompt included
  int64_t num_beams = 1;
  int64_t num_return_sequences = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;
  std::vector<int32_t> eos_token_ids;  ///< any of them ends a sequence
  std::optional<int32_t> bos_token_id;
  std::optional<int32_t> decoder_start_token_id;
  std::optional<int32_t> forced_bos_token_id;
  std::vector<int32_t> forced_eos_token_ids;
  std::vector<std::vector<int32_t>> bad_words_ids;
  std::vector<int32_t> suppress_tokens;        ///< never come
  std::vector<int32_t> begin_suppress_tokens;  ///< don't come first
  int64_t no_repeat_ngram_size = 0;            ///< 0: off
  double repetition_penalty = 1;               ///< 1: off
  bool renormalize_logits = false;  ///< probabilities sum up to 1 again after the rules; only beam search sees it
  // Draws instead of the likeliest token.
  bool do_sample = false;
  double temperature = 1;  ///< 0: the likeliest
  int64_t top_k = 50;      ///< 0: off
  double top_p = 1;        ///< 1: off
  double min_p = 0;        ///< 0: off
  uint32_t seed = 0;       ///< no key of the file
  // What llama.cpp has; no keys of the file.
  RecentPenalties recent_penalties;
  std::vector<std::pair<int32_t, double>> logit_bias;  ///< added to the score of an id
  bool temperature_last = false;                       ///< as in llama.cpp; else first, as in transformers
  std::shared_ptr<const TokenConstraint> constraint;   ///< of what comes behind the prompt

  bool operator==(const GenerationConfig&) const = default;
  /// Sequences of a source side by side: its beams or, where tokens are drawn, what is returned of it.
  int64_t rows() const { return num_beams > 1 ? num_beams : do_sample ? num_return_sequences : 1; }
  /// Whether max_new_tokens or max_length says how long a sequence may become.
  bool has_length() const { return max_new_tokens || max_length; }
  /// Most tokens to generate after a prompt (a decoder's start id is a prompt of length 1). Throws Error when
  /// max_length leaves none.
  int64_t most_new_tokens(int64_t prompt_length) const;
  /// Tokens to generate before an end id may come.
  int64_t least_new_tokens(int64_t prompt_length) const;
  bool ends(int32_t token) const;
  /// The decoder's first id: decoder_start_token_id, else bos_token_id. Throws Error when there is neither.
  int32_t decoder_start() const;
};

/// What llama.cpp takes where nobody says anything.
void take_usual_draws(GenerationConfig& config);

/// Where a model folder says how to generate.
struct GenerationSource {
  JsonObject json;  ///< generation_config.json or, in an older folder that has none, config.json
  GenerationConfig
      silent;  ///< what holds where it is silent: of config.json the ids of Hugging Face's configuration class
};
/// `own_ends`: nothing but a generation_config.json counts, for the config of a model of characters may have been
/// another's, end ids and all.
GenerationSource find_generation_source(const std::filesystem::path& folder, bool own_ends = false);

/// Reads Hugging Face's keys; what `json` does not say is as in `silent`. Unknown keys are ignored, and negative ids
/// are none. Throws Error for wrong types, for values outside of what can be meant, and for keys that would change the
/// result but are not implemented.
GenerationConfig parse_generation_config(const JsonObject& json, GenerationConfig silent = {});
GenerationConfig load_generation_config(const std::filesystem::path& folder);

}  // namespace vkformer
