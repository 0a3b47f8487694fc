#pragma once
// A server of a classifier: of the classes of texts and, where it tells how well two texts fit together, of documents
// in that order.

#include "models/classification/classifier.h"
#include "models/classification/relevance.h"
#include "models/serving/classes.h"
#include "tools/cli/serve/text_batches.h"

namespace vkformer {

class ClassService final : public Service {
 public:
  /// What is given must outlive this object. `classes`: their names. `relevance`: nothing for a model that does not
  /// rerank.
  ClassService(Classifier& classifier, const Model& model, const Tokenizer& tokenizer, std::vector<std::string> classes,
               std::optional<Relevance> relevance, const TextLimits& limits, std::string name);

  std::optional<HttpReply> reply(const HttpRequest& request) override;
  std::string_view addresses() const override { return relevance_ ? "/v1/rerank and /predict" : "/predict"; }
  void run(const std::function<bool()>& ended) override { queue_.run(ended); }

 private:
  using Logits = std::vector<std::vector<float>>;
  TokenTexts texts_of(const std::vector<ClassRequest::Text>& texts, bool cut) const;
  Logits logits_of(const TokenTexts& texts, const DeviceQueue::CheckWanted& check_wanted);
  HttpReply rerank(const HttpRequest& request);
  HttpReply classify(const HttpRequest& request);

  Classifier& classifier_;
  const Model& model_;
  const Tokenizer& tokenizer_;
  std::vector<std::string> classes_;
  std::optional<Relevance> relevance_;
  TextLimits limits_;
  std::string name_;
  DeviceQueue queue_;
};

}  // namespace vkformer
