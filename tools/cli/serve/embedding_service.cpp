#include "tools/cli/serve/embedding_service.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>

#include "models/serving/embeddings.h"
#include "models/serving/text_reply.h"
#include "models/text/unicode.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// Positions and rows of a batch are powers of two, so that few programs serve all requests.
int64_t rounded_up(int64_t count) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))); }

}  // namespace

EmbeddingService::EmbeddingService(Embedder& embedder, const Model& model, const Tokenizer& tokenizer,
                                   EmbeddingRecipe recipe, const Limits& limits, std::string name)
    : embedder_(embedder),
      model_(model),
      tokenizer_(tokenizer),
      recipe_(std::move(recipe)),
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
  }
  return result;
}

EmbeddingService::Embeddings EmbeddingService::embed(const TokenTexts& texts,
                                                     const DeviceQueue::CheckWanted& check_wanted) {
  const TextInputs inputs = text_inputs(model_, texts.largest_segment());
  Embeddings results(texts.ids.size());
  std::vector<uint32_t> order(texts.ids.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  const auto length = [&](uint32_t text) { return std::ssize(texts.ids[text]); };
  std::ranges::stable_sort(order, std::greater{}, length);
  for (size_t done = 0; done < order.size();) {
    check_wanted();
    const int64_t longest = std::min(limits_.most_tokens, rounded_up(length(order[done])));
    const auto most = static_cast<size_t>(std::max<int64_t>(1, limits_.positions / longest));
    const std::span batch = std::span(order).subspan(done, std::min(most, order.size() - done));
    const LengthBatches::Bucket bucket{.length = longest, .rows = rounded_up(std::ssize(batch))};
    auto rows = embedder_.embeddings(text_batch(text_shape(bucket, inputs), texts, batch, inputs), batch.size());
    for (size_t i = 0; i < batch.size(); ++i) results[batch[i]] = std::move(rows[i]);
    done += batch.size();
  }
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
