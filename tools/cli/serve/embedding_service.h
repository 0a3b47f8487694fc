#pragma once
// A server of embeddings.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>

#include "models/embedding/embedder.h"
#include "tools/cli/serve/service.h"

namespace vkformer {

class EmbeddingService final : public Service {
 public:
  struct Limits {
    int64_t most_tokens = 0;   ///< of a text
    int64_t positions = 0;     ///< of a batch
    int64_t most_waiting = 0;  ///< requests
  };
  /// What is given must outlive this object.
  EmbeddingService(Embedder& embedder, const Model& model, const Tokenizer& tokenizer, EmbeddingRecipe recipe,
                   const Limits& limits, std::string name);

  std::optional<HttpReply> reply(const HttpRequest& request) override;
  void run(const std::function<bool()>& ended) override;

 private:
  using Embeddings = std::vector<std::vector<float>>;
  TokenTexts texts_of(const std::vector<std::string>& texts, bool query) const;
  /// Throws Error in the end where `left` says so, or the server ends.
  Embeddings embed(const TokenTexts& texts, const std::atomic<bool>& left);

  Embedder& embedder_;
  const Model& model_;
  const Tokenizer& tokenizer_;
  EmbeddingRecipe recipe_;
  Limits limits_;
  std::string name_;

  std::mutex mutex_;
  std::condition_variable came_;
  std::deque<std::packaged_task<Embeddings()>> waiting_;
  bool closed_ = false;
  // Of the device's thread.
  std::function<bool()> ended_;
  std::optional<std::string> lost_;  ///< why the device is
};

}  // namespace vkformer
