#include "tools/cli/serve/embedding_service.h"

#include <nlohmann/json.hpp>

#include "models/serving/embeddings.h"
#include "models/serving/text_reply.h"
#include "models/text/unicode.h"
#include "runtime/check.h"

namespace vkformer {

EmbeddingService::EmbeddingService(Embedder& embedder, const Model& model, const Tokenizer& tokenizer,
                                   EmbeddingRecipe recipe, std::optional<int32_t> fill, const TextLimits& limits,
                                   std::string name)
    : embedder_(embedder),
      model_(model),
      tokenizer_(tokenizer),
      recipe_(std::move(recipe)),
      fill_(fill),
      limits_(limits),
      name_(std::move(name)),
      queue_(limits.most_waiting) {}

TokenTexts EmbeddingService::texts_of(const std::vector<std::string>& texts, bool query) const {
  const std::string& prefix = query ? recipe_.query_prefix : recipe_.text_prefix;
  TokenTexts result;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string whole = prefix + texts[i], text = recipe_.lower_case ? lower_case(whole) : whole;
    result.add(tokenizer_, text, {}, limits_.most_tokens, fmt::format("text {}", i + 1));
    check(result.cut == 0, "text {} has more than the {} tokens that are taken; shorten it", i + 1,
          limits_.most_tokens);
    if (fill_) result.fill_last(*fill_, model_.context);
  }
  return result;
}

EmbeddingService::Embeddings EmbeddingService::embed(const TokenTexts& texts,
                                                     const DeviceQueue::CheckWanted& check_wanted) {
  Embeddings results(texts.ids.size());
  for_batches_of_request(texts, model_, limits_, check_wanted,
                         [&](const DataBatch& batch, std::span<const uint32_t> examples) {
                           auto rows = embedder_.embeddings(batch, examples.size());
                           for (size_t i = 0; i < rows.size(); ++i) results[examples[i]] = std::move(rows[i]);
                         });
  return results;
}

std::optional<HttpReply> EmbeddingService::reply(const HttpRequest& request) {
  if (!asks(request, "POST", "/v1/embeddings")) return std::nullopt;
  const EmbeddingRequest asked = parse_embedding_request(request.body);
  const TokenTexts texts = texts_of(asked.texts, asked.query);
  Embeddings embeddings;
  auto refused = queue_.have_done(request, [&](const auto& check_wanted) { embeddings = embed(texts, check_wanted); });
  if (refused) return refused;
  return HttpReply{.body = text_of(embedding_reply(asked, std::move(embeddings), name_, texts.tokens()))};
}

}  // namespace vkformer
