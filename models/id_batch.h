#pragma once
// A batch that somebody else has made: ids and what belongs to them, under Hugging Face's names for a model's inputs.

#include <map>

#include "models/model.h"

namespace vkformer {

/// Integers [batch, positions], row after row.
struct IdMatrix {
  int64_t rows = 0, columns = 0;
  std::vector<int32_t> values;
};

/// The inputs of one batch, checked.
struct IdBatch {
  BatchShape shape;
  std::map<std::string, std::vector<int32_t>> inputs;  ///< by our names, see add_inputs()

  /// `tensors`: "input_ids", "attention_mask" (0 and 1), "token_type_ids", "position_ids", "decoder_input_ids". Throws
  /// Error for other names, for what the model needs and is not there, for unlike shapes, and like check_feed().
  IdBatch(const Model& model, const std::map<std::string, IdMatrix>& tensors);
  Feed feed() const { return {inputs.begin(), inputs.end()}; }
};

}  // namespace vkformer
