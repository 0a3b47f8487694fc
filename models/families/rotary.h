#pragma once
// The angles of rotary positions (Su et al. 2021, "RoFormer") and their scalings for longer contexts.

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "runtime/files/json_file.h"

namespace vkformer {

/// Which angles rotary positions use (Hugging Face: rope_parameters, or rope_theta and rope_scaling in older files).
struct RotaryConfig {
  enum class Scaling : uint8_t { none, linear, llama3 };
  double theta = 10000;
  Scaling scaling = Scaling::none;
  double factor = 1;
  double low_frequency_factor = 1, high_frequency_factor = 4;  ///< llama3
  int64_t original_context = 8192;                             ///< llama3, positions

  /// The object that holds them: rope_scaling (older files), else rope_parameters (transformers 5), else the config.
  static JsonObject place(const JsonObject& config);
  /// Throws Error naming file and key. A base that place() leaves out is that of `theta_key` in the config.
  static RotaryConfig from_json(const JsonObject& config, const char* theta_key = "rope_theta");
  /// What goes under rope_parameters.
  nlohmann::json to_json() const;
  /// Adds rope_scaling, which older versions of transformers read, where there is a scaling.
  void add_scaling(nlohmann::json& config) const;
  /// All keys of a config that has nothing else to say of them, for transformers 5 and older.
  nlohmann::json keys() const;
  /// Radians a position turns pair i of `width` columns by.
  double frequency(int64_t i, int64_t width) const;
  /// Row p: width / 2 cosines, then width / 2 sines of position p.
  std::vector<float> table(int64_t positions, int64_t width) const;
};

}  // namespace vkformer
