#pragma once
// What the parts of `vkformer verify` share; internal to models/verify*.cpp.

#include <algorithm>
#include <cmath>

#include "models/verify/verify.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

inline VerifyRow::Verdict verdict(bool passed) {
  return passed ? VerifyRow::Verdict::passed : VerifyRow::Verdict::failed;
}

/// The largest error of a tensor beside its largest expected magnitude.
struct LargestError {
  double worst = 0, largest = 0;

  void add(double got, double expected) {
    const double difference = std::abs(got - expected);
    // A comparison with NaN is false: it must not pass for a small error.
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    largest = std::max(largest, std::abs(expected));
  }
  /// `worst` as a share of `largest`; as it is when all is expected to be zero.
  double relative() const { return largest > 0 ? worst / largest : worst; }
};

inline std::vector<float> read_floats(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.require(name);
  std::vector<float> values(static_cast<size_t>(entry.elements()));
  file.read_floats(entry, values);
  return values;
}
inline std::vector<int32_t> read_ints(const SafetensorsFile& file, const std::string& name) {
  const TensorEntry& entry = file.require(name);
  std::vector<int32_t> values(static_cast<size_t>(entry.elements()));
  file.read_ints(entry, values);
  return values;
}

/// Greedy and beam search of the case, where it has them: ids, logits of every step, scores of the hypotheses.
void verify_generation(Backend& backend, const std::filesystem::path& folder, const Model& model,
                       const JsonObject& recorded, const SafetensorsFile& expected,
                       const std::function<void(const VerifyRow&)>& report);

/// The inputs of two-stream attention that a recorded permutation stands for.
struct TwoStreams {
  int64_t predictions = 0;     ///< P
  std::vector<int32_t> order;  ///< [B, T]: places in the order, -1 of what is given, T of padding, which no other sees
  std::vector<int32_t> predicted;  ///< [B, P]
};
/// Of `prefix` + "perm_mask" and "target_mapping", and the case's "attention_mask". Throws Error when they don't fit
/// together, for a permutation that is no order, and for a prediction of several positions.
TwoStreams read_two_streams(const SafetensorsFile& expected, const std::string& prefix);

/// Whether a folder has a tokenizer.json with its cases.json.
bool holds_tokenizer_case(const std::filesystem::path& folder);

/// Verifies the tokenizer of a folder; calls `report` once for each kind of comparison, whose name starts with
/// `prefix`. Throws Error when the files can't be read.
void verify_tokenizer(const std::filesystem::path& folder, const std::string& prefix,
                      const std::function<void(const VerifyRow&)>& report);

}  // namespace vkformer
