#pragma once
// The angles of rotary positions (Su et al. 2021, "RoFormer") and their scalings for longer contexts.

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// Which angles rotary positions use (Hugging Face: rope_parameters, or rope_theta and rope_scaling in older files).
struct RotaryConfig {
  enum class Scaling : uint8_t {
    none,      ///< also "dynamic", whose angles are others beyond the context alone
    linear,    ///< all frequencies are divided by `factor` (Chen et al. 2023)
    llama3,    ///< only low ones are
    yarn,      ///< those are that turn less than beta_slow times in the original context (Peng et al. 2023)
    longrope,  ///< each by a factor of its own, one for short texts, one for long ones (Ding et al. 2024)
    /// all are divided by `factor`, and only pairs of the first `share` of the columns turn (Gemma 4)
    proportional,
  };
  double theta = 10000;
  Scaling scaling = Scaling::none;
  double factor = 1;
  double low_frequency_factor = 1, high_frequency_factor = 4;  ///< llama3
  double beta_fast = 32, beta_slow = 1;                        ///< yarn: turns in the original context
  bool truncate = true;                                        ///< yarn: its bounds are whole columns
  std::vector<double> short_factors, long_factors;             ///< longrope, of each pair
  double attention_factor = 1;                                 ///< yarn, longrope: of cosines and sines
  double score_growth = 0;          ///< yarn: how much scores grow with the factor, beyond cosines and sines (DeepSeek)
  int64_t original_context = 8192;  ///< llama3, yarn, longrope: positions
  /// yarn of families that have it: queries at position p are multiplied by 1 + growth ln(1 + floor(p /
  /// original_context)) (Llama 4).
  double query_growth = 0;
  static constexpr const char* query_growth_key = "llama_4_scaling_beta";

  double share = 1;  ///< proportional

  bool backwards = false;  ///< pairs turn the other way (nanochat)

  /// Of models that see (Qwen2-VL, "M-RoPE"): how many pairs turn by each of a position's Place; empty: all by one
  /// number.
  std::vector<int64_t> sections;
  bool mixed_sections = false;  ///< pairs take turns (Qwen3-VL), instead of one section after the other
  /// What a position counts as: the frame, row and column of a picture's, one number three times of a text's.
  using Place = std::array<int64_t, 3>;
  /// Which of these pair i turns by.
  size_t axis_of(int64_t i) const;

  /// What a family says where a config doesn't.
  struct Usual {
    const char* theta_key = "rope_theta";  ///< in the config, for a base that place() leaves out
    double theta = 10000;
    int64_t context = 2048;     ///< of the model, positions
    bool proportional = false;  ///< the family has that scaling
  };
  /// The object that holds them: rope_scaling (older files), else rope_parameters (transformers 5), else the config.
  static JsonObject place(const JsonObject& config);
  /// Throws Error naming file and key.
  static RotaryConfig from_json(const JsonObject& config, const Usual& usual);
  static RotaryConfig from_json(const JsonObject& config) { return from_json(config, Usual{}); }
  /// From another object than place(config).
  static RotaryConfig from_json(const JsonObject& parameters, const JsonObject& config, const Usual& usual);
  /// Throws Error, naming `config`, where `width` columns have another number of pairs than there are factors, or in
  /// sections.
  void check_width(const JsonObject& config, int64_t width) const;
  /// What goes under rope_parameters.
  nlohmann::json to_json() const;
  /// Adds rope_scaling, which older versions of transformers read, where there is a scaling.
  void add_scaling(nlohmann::json& config) const;
  /// All keys of a config that has nothing else to say of them, for transformers 5 and older.
  nlohmann::json keys() const;

  /// Whether a run of so many positions takes longrope's factors for long texts.
  bool stretches(int64_t positions) const { return scaling == Scaling::longrope && positions > original_context; }
  /// Whether queries grow somewhere in so many positions.
  bool queries_grow(int64_t positions) const { return query_growth > 0 && positions > original_context; }
  /// What families that read `score_growth` multiply scores by.
  double score_factor() const;
  /// Radians a position turns pair i of `width` columns by; `stretched`: in a run that stretches().
  double frequency(int64_t i, int64_t width, bool stretched = false) const;
  /// Row p: width / 2 cosines, then width / 2 sines of position p.
  std::vector<float> table(int64_t positions, int64_t width, bool stretched = false) const;
  /// A row of it for another position.
  std::vector<float> row(const Place& place, int64_t width) const;
  /// The same with the factors that queries grow by, where all of a head's columns turn.
  std::vector<float> query_table(int64_t positions, int64_t width) const;
};

}  // namespace vkformer
