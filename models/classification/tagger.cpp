#include "models/classification/tagger.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"

namespace vkformer {

nlohmann::json tags_json(const std::vector<std::string>& words, const std::vector<WordTag>& tags,
                         const std::vector<std::string>& names) {
  nlohmann::json json = {{"words", words}};
  json["tags"] = json["probabilities"] = nlohmann::json::array();
  for (const auto& [tag, probability] : tags) {
    json["tags"].push_back(names[tag]);
    json["probabilities"].push_back(probability);
  }
  return json;
}

Tagger::Tagger(Backend& backend, const Model& model, std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace)
    : logits_(backend, model, std::move(store), std::move(workspace)) {
  check(model.task == Task::tag, "this {} model gives no tags of words; train one with --tags", model.family);
}

std::vector<std::vector<WordTag>> Tagger::tags(const DataBatch& batch,
                                               std::span<const std::vector<int32_t>> positions) {
  const std::vector<float> logits = logits_.of(batch);
  const auto length = static_cast<size_t>(batch.shape.positions);
  const size_t classes = logits.size() / (static_cast<size_t>(batch.shape.rows) * length);
  std::vector<std::vector<WordTag>> rows;
  for (size_t row = 0; row < positions.size(); ++row) {
    std::vector<WordTag>& words = rows.emplace_back();
    for (const int32_t position : positions[row]) {
      const size_t token = row * length + static_cast<size_t>(position);
      const auto shares = softmax_of(std::span(logits).subspan(token * classes, classes));
      const auto best = std::ranges::max_element(shares);
      words.push_back({static_cast<size_t>(best - shares.begin()), *best});
    }
  }
  return rows;
}

std::vector<std::vector<WordTag>> tag_words(Tagger& tagger, const WordWindows& windows, const TextInputs& inputs,
                                            int64_t positions, const std::function<void(size_t)>& done) {
  std::vector<std::vector<WordTag>> texts(windows.text_count);
  for (const WordWindows::Window& window : windows.windows)
    texts[window.text].resize(std::max(texts[window.text].size(), window.first_word + window.positions.size()));
  for_batches_by_length(windows.texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t> taken) {
    std::vector<std::vector<int32_t>> words;
    for (const uint32_t window : taken) words.push_back(windows.windows[window].positions);
    const auto rows = tagger.tags(batch, words);
    for (size_t row = 0; row < taken.size(); ++row) {
      const WordWindows::Window& window = windows.windows[taken[row]];
      std::ranges::copy(rows[row], texts[window.text].begin() + static_cast<ptrdiff_t>(window.first_word));
    }
    done(taken.size());
  });
  return texts;
}

}  // namespace vkformer
