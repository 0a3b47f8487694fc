#pragma once
// A server of embeddings.

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>

#include "models/embedding/embedder.h"
#include "tools/cli/serve/service.h"

namespace vkformer {

class EmbeddingService final : public Service {
 public:
  /// What is given must outlive this object. `most_tokens`: of a text; `positions`: of a batch.
  EmbeddingService(Embedder& embedder, const Model& model, const Tokenizer& tokenizer, EmbeddingRecipe recipe,
                   int64_t most_tokens, int64_t positions, std::string name);

  std::optional<HttpReply> reply(const HttpRequest& request) override;
  void run(const std::function<bool()>& ended) override;

 private:
  using Embeddings = std::vector<std::vector<float>>;
  TokenTexts texts_of(const std::vector<std::string>& texts, bool query) const;
  Embeddings embed(const TokenTexts& texts);

  Embedder& embedder_;
  const Model& model_;
  const Tokenizer& tokenizer_;
  EmbeddingRecipe recipe_;
  int64_t most_tokens_, positions_;
  std::string name_;

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::packaged_task<Embeddings()>> waiting_;
  bool closed_ = false;
  std::optional<std::string> lost_;  ///< why the device is; of its thread
};

}  // namespace vkformer
