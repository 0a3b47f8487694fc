#pragma once
// A server of embeddings.

#include <optional>

#include "models/embedding/embedder.h"
#include "tools/cli/serve/text_batches.h"

namespace vkformer {

class EmbeddingService final : public Service {
 public:
  /// What is given must outlive this object. `fill`: see fill_of().
  EmbeddingService(Embedder& embedder, const Model& model, const Tokenizer& tokenizer, EmbeddingRecipe recipe,
                   std::optional<int32_t> fill, const TextLimits& limits, std::string name);

  std::optional<HttpReply> reply(const HttpRequest& request) override;
  std::string_view addresses() const override { return "/v1/embeddings"; }
  void run(const std::function<bool()>& ended) override { queue_.run(ended); }

 private:
  using Embeddings = std::vector<std::vector<float>>;
  TokenTexts texts_of(const std::vector<std::string>& texts, bool query) const;
  Embeddings embed(const TokenTexts& texts, const DeviceQueue::CheckWanted& check_wanted);

  Embedder& embedder_;
  const Model& model_;
  const Tokenizer& tokenizer_;
  EmbeddingRecipe recipe_;
  std::optional<int32_t> fill_;
  TextLimits limits_;
  std::string name_;
  DeviceQueue queue_;
};

}  // namespace vkformer
