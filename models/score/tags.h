#pragma once
// Scores of tagged words: how many tags are right, and how many entities, as conlleval and seqeval count them.

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/score/labels.h"

namespace vkformer {

/// Words [begin, end) of a text that are one name of something.
struct Entity {
  std::string type;  ///< "PER"
  size_t begin = 0, end = 0;
  bool operator==(const Entity&) const = default;
};

/// Whether tags mark entities: all are "O", "B-" or "I-" and a type, and not all are "O".
bool marks_entities(std::span<const std::string> tags);

/// The entities of one text's tags. One begins at each B-, and at an I- that does not follow a B- or I- of its type (so
/// conlleval and seqeval take IOB1, too, and errors of models); the I- of its type behind it belong to it.
std::vector<Entity> entities_of(std::span<const std::string> tags);

/// Sums over texts.
class TagScores {
 public:
  /// The tags of one text. Throws Error unless there are as many hypotheses as references.
  void add(std::span<const std::string> references, std::span<const std::string> hypotheses);

  int64_t words() const { return words_; }
  /// Share of the words whose tag is right, 0 to 1.
  double accuracy() const;
  /// Entities; right are those of the same words and type. Its label is empty.
  const LabelScore& entities() const { return entities_; }

 private:
  int64_t words_ = 0, matches_ = 0;
  LabelScore entities_;
};

/// What a tagger must be better than to be worth its training: the tag that a word most often has; for words that were
/// not seen, the most frequent tag. Of several the one first in the order of their bytes.
class FrequentTags {
 public:
  /// The words of a text and their tags.
  void add(std::span<const std::string> words, std::span<const std::string> tags);
  std::vector<std::string> tag(std::span<const std::string> words) const;

 private:
  using Counts = std::unordered_map<std::string, int64_t>;
  std::unordered_map<std::string, Counts> words_;
  Counts all_;
};

}  // namespace vkformer
