#include "tools/cli/serve/class_service.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/serving/text_reply.h"
#include "runtime/check.h"

namespace vkformer {

ClassService::ClassService(Classifier& classifier, const Model& model, const Tokenizer& tokenizer,
                           std::vector<std::string> classes, std::optional<Relevance> relevance,
                           const TextLimits& limits, std::string name)
    : classifier_(classifier),
      model_(model),
      tokenizer_(tokenizer),
      classes_(std::move(classes)),
      relevance_(relevance),
      limits_(limits),
      name_(std::move(name)),
      queue_(limits.most_waiting) {}

std::optional<HttpReply> ClassService::reply(const HttpRequest& request) {
  const auto asked = [&](const char* path) { return asks(request, "POST", path); };
  if (relevance_ && (asked("/v1/rerank") || asked("/v1/reranking"))) return rerank(request);
  if (asked("/predict") || asked("/classify")) return classify(request);
  return std::nullopt;
}

TokenTexts ClassService::texts_of(const std::vector<ClassRequest::Text>& texts, bool cut) const {
  TokenTexts result;
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto& [first, second] = texts[i];
    result.add(tokenizer_, first, second, limits_.most_tokens, fmt::format("text {}", i + 1));
    check(result.cut == 0 || cut,
          "{} {} has more than the {} tokens that are taken; shorten {}, or send \"truncate\": true",
          second ? "pair" : "text", i + 1, limits_.most_tokens, second ? "a text of it" : "it");
  }
  return result;
}

ClassService::Logits ClassService::logits_of(const TokenTexts& texts, const DeviceQueue::CheckWanted& check_wanted) {
  Logits results(texts.ids.size());
  for_batches_of_request(texts, model_, limits_, check_wanted,
                         [&](const DataBatch& batch, std::span<const uint32_t> examples) {
                           auto rows = classifier_.logits_of(batch);
                           for (size_t i = 0; i < examples.size(); ++i) results[examples[i]] = std::move(rows[i]);
                         });
  return results;
}

HttpReply ClassService::rerank(const HttpRequest& request) {
  const RerankRequest asked = parse_rerank_request(request.body);
  std::vector<ClassRequest::Text> pairs;
  for (const std::string& document : asked.documents) pairs.push_back({.first = asked.query, .second = document});
  const TokenTexts texts = texts_of(pairs, asked.cut);
  std::vector<double> scores;
  const auto refused = queue_.have_done(request, [&](const auto& check_wanted) {
    for (const auto& row : logits_of(texts, check_wanted))
      scores.push_back(relevance_score(asked.raw ? Relevance::logit : *relevance_, row.front()));
  });
  if (refused) return *refused;
  return {.body = text_of(rerank_reply(asked, scores, name_, texts.tokens()))};
}

HttpReply ClassService::classify(const HttpRequest& request) {
  const ClassRequest asked = parse_class_request(request.body);
  const TokenTexts texts = texts_of(asked.texts, asked.cut);
  std::vector<std::vector<double>> scores;
  const auto refused = queue_.have_done(request, [&](const auto& check_wanted) {
    for (const auto& row : logits_of(texts, check_wanted))
      scores.push_back(asked.raw ? std::vector<double>(row.begin(), row.end()) : classifier_.probabilities_of(row));
  });
  if (refused) return *refused;
  return {.body = text_of(class_reply(asked, scores, classes_))};
}

}  // namespace vkformer
