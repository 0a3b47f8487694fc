#pragma once
// What a model of token classes makes of the words of texts.

#include <nlohmann/json_fwd.hpp>

#include "models/classification/batch_logits.h"
#include "models/data/word_windows.h"

namespace vkformer {

/// The tag of a word.
struct WordTag {
  size_t tag = 0;  ///< the likeliest one's place among the classes
  double probability = 0;
};

/// {"words", "tags", "probabilities"}, of words whose tags have these names.
nlohmann::json tags_json(const std::vector<std::string>& words, const std::vector<WordTag>& tags,
                         const std::vector<std::string>& names);

class Tagger {
 public:
  /// See BatchLogits. Throws Error for a model that gives no classes of tokens.
  Tagger(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace);

  /// Those of the words that begin at `positions` of a row of the batch, for each row that is given.
  std::vector<std::vector<WordTag>> tags(const DataBatch& batch, std::span<const std::vector<int32_t>> positions);
  const BatchLogits& logits() const { return logits_; }

 private:
  BatchLogits logits_;
};

/// The tags of all words, text by text; batches have at most `positions`. `done`: called with the number of windows
/// that a batch had.
std::vector<std::vector<WordTag>> tag_words(Tagger& tagger, const WordWindows& windows, const TextInputs& inputs,
                                            int64_t positions, const std::function<void(size_t)>& done);

}  // namespace vkformer
