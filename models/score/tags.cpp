#include "models/score/tags.h"

#include <algorithm>

#include "models/score/segments.h"

namespace vkformer {

namespace {

bool in_entity(std::string_view tag) { return tag.starts_with("B-") || tag.starts_with("I-"); }
std::string_view entity_type(std::string_view tag) { return tag.substr(2); }

const std::string& most_frequent(const std::unordered_map<std::string, int64_t>& counts) {
  return std::ranges::max_element(counts,
                                  [](const auto& a, const auto& b) {
                                    return a.second != b.second ? a.second < b.second : a.first > b.first;
                                  })
      ->first;
}

}  // namespace

bool marks_entities(std::span<const std::string> tags) {
  const bool known = std::ranges::all_of(tags, [](const std::string& tag) { return tag == "O" || in_entity(tag); });
  return known && std::ranges::any_of(tags, [](const std::string& tag) { return in_entity(tag); });
}

std::vector<Entity> entities_of(std::span<const std::string> tags) {
  std::vector<Entity> entities;
  for (size_t i = 0; i < tags.size(); ++i) {
    if (!in_entity(tags[i])) continue;
    const std::string_view type = entity_type(tags[i]);
    const bool continues =
        tags[i].starts_with("I-") && i > 0 && in_entity(tags[i - 1]) && entity_type(tags[i - 1]) == type;
    if (!continues) entities.push_back({std::string(type), i, i});
    entities.back().end = i + 1;
  }
  return entities;
}

void TagScores::add(std::span<const std::string> references, std::span<const std::string> hypotheses) {
  if (references.empty() && hypotheses.empty()) return;
  matches_ += count_equal_lines(references, hypotheses);
  words_ += std::ssize(references);
  const auto right = entities_of(references), said = entities_of(hypotheses);
  entities_.support += std::ssize(right);
  entities_.predicted += std::ssize(said);
  entities_.matches += std::ranges::count_if(
      said, [&](const Entity& entity) { return std::ranges::find(right, entity) != right.end(); });
}

double TagScores::accuracy() const {
  return words_ == 0 ? 0 : static_cast<double>(matches_) / static_cast<double>(words_);
}

void FrequentTags::add(std::span<const std::string> words, std::span<const std::string> tags) {
  for (size_t i = 0; i < words.size(); ++i) {
    ++words_[words[i]][tags[i]];
    ++all_[tags[i]];
  }
}

std::vector<std::string> FrequentTags::tag(std::span<const std::string> words) const {
  const std::string& usual = most_frequent(all_);
  std::vector<std::string> tags;
  for (const std::string& word : words) {
    const auto known = words_.find(word);
    tags.push_back(known == words_.end() ? usual : most_frequent(known->second));
  }
  return tags;
}

}  // namespace vkformer
