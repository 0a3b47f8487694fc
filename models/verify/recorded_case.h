#pragma once
// A recorded case of a model: its batch, its expected tensors, and how a result is compared with them; internal to this
// folder.

#include <set>

#include "models/verify/verify.h"
#include "runtime/files/safetensors.h"

namespace vkformer {

/// 0 for rows that are not compared; empty: all are.
using RowMask = std::vector<int32_t>;

/// The tensor NAME, [sources, columns, frames] as Hugging Face has it, as the model's source. Throws Error for another
/// shape.
std::vector<float> read_frames(const SafetensorsFile& expected, const std::string& name, const Model& model);

class RecordedCase {
 public:
  /// Throws Error for files that can't be read or don't fit together. `report` must outlive it.
  RecordedCase(Backend& backend, const std::filesystem::path& folder,
               const std::function<void(const VerifyRow&)>& report);

  Backend& backend() const { return backend_; }
  const std::filesystem::path& folder() const { return folder_; }
  const Model& model() const { return model_; }
  const JsonObject& manifest() const { return case_; }  ///< case.json
  const SafetensorsFile& expected() const { return expected_; }
  const std::function<void(const VerifyRow&)>& report() const { return report_; }

  const BatchShape& batch() const { return batch_; }
  /// The recorded batch as the model's inputs, with "targets".
  Feed feed() const;
  /// Of the rows that the model's hidden states have, and of the encoder's; of predicted positions all are compared.
  const RowMask& mask() const { return mask_; }
  const RowMask& source_mask() const { return source_mask_; }

  bool has(const std::string& name) const { return expected_.find(name) != nullptr; }
  std::vector<float> floats(const std::string& name) const;
  const std::vector<int64_t>& shape(const std::string& name) const { return expected_.require(name).shape; }
  /// A tolerance of case.json.
  double limit(const char* key) const;
  /// Whether the parameter's gradient is only rounding noise.
  bool zero_in_theory(const std::string& parameter) const { return zero_gradients_.contains(parameter); }

  /// A Store with the case's weights.
  std::shared_ptr<Store> load() const;

  /// Reports the largest error over the rows whose mask is not 0, as a share of the largest expected magnitude there,
  /// or of `largest` if that is greater.
  void compare(const std::string& name, std::span<const float> got, double tolerance, const RowMask& mask = {},
               double largest = 0) const;
  /// Reports the error of a number as a share of it; one of up to `absolute` passes, too.
  void compare_relative(const std::string& name, double got, double want, double tolerance, double absolute = 0) const;

 private:
  void read_batch();
  void read_sound();
  void read_pictures();
  std::vector<int32_t> ints(const std::string& name) const;
  std::vector<int32_t> targets() const;
  void add_input(std::string_view name, std::vector<int32_t> values) { inputs_.emplace_back(name, std::move(values)); }

  Backend& backend_;
  std::filesystem::path folder_;
  const std::function<void(const VerifyRow&)>& report_;
  JsonObject case_, tolerance_;
  SafetensorsFile expected_;
  Model model_;
  BatchShape batch_;
  std::set<std::string> zero_gradients_;
  std::vector<std::pair<std::string_view, std::vector<int32_t>>> inputs_;
  std::vector<float> frames_;  ///< of a source that has no ids
  RowMask mask_, source_mask_;
};

/// Hidden states, logits and weights of attention.
void verify_forward(const RecordedCase& recorded);
/// A query stream beside the case (XLNet), where it has one: logits and loss of the predicted positions.
void verify_two_stream(const RecordedCase& recorded);
/// Of a model with two towers: vectors, their cosines, and what it makes of these.
void verify_match(const RecordedCase& recorded);
/// The loss and every gradient.
void verify_gradients(const RecordedCase& recorded);
/// Losses and final weights of some AdamW steps.
void verify_training(const RecordedCase& recorded);

}  // namespace vkformer
