#pragma once
// How often a model's likeliest word is the right one.

#include "models/classification/batch_logits.h"

namespace vkformer {

struct WordCount {
  int64_t right = 0, targets = 0;
};

/// Of the targets that a batch does not ignore, those whose logit is the largest.
WordCount count_right_words(BatchLogits& logits, const DataBatch& batch);

}  // namespace vkformer
