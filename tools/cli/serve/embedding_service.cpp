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
      name_(std::move(name)) {}

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

EmbeddingService::Embeddings EmbeddingService::embed(const TokenTexts& texts, const std::atomic<bool>& left) {
  const TextInputs inputs = text_inputs(model_, texts.largest_segment());
  Embeddings results(texts.ids.size());
  std::vector<uint32_t> order(texts.ids.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint32_t>(i);
  const auto length = [&](uint32_t text) { return std::ssize(texts.ids[text]); };
  std::ranges::stable_sort(order, std::greater{}, length);
  for (size_t done = 0; done < order.size();) {
    check(!left && !ended_(), "{}", ended_early);
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
  std::atomic<bool> left = false;
  std::packaged_task<Embeddings()> task([&] {
    try {
      return embed(texts, left);
    } catch (const DeviceLost& lost) {
      lost_ = lost.what();
      throw;
    }
  });
  std::future<Embeddings> result = task.get_future();
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return error_of(500, ended_early);
    if (std::ssize(waiting_) >= limits_.most_waiting) return error_of(429, too_many);
    waiting_.push_back(std::move(task));
    came_.notify_one();
  }
  Embeddings embeddings;
  try {
    while (result.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) left = left || request.gone();
    embeddings = result.get();
  } catch (const std::future_error&) {  // nobody will do it
    return error_of(500, ended_early);
  } catch (const Error& error) {
    return error_of(500, error.what());
  }
  return HttpReply{.body = text_of(embedding_reply(asked, std::move(embeddings), name_, texts.tokens()))};
}

void EmbeddingService::run(const std::function<bool()>& ended) {
  ended_ = ended;
  while (!ended() && !lost_) {
    std::unique_lock lock(mutex_);
    if (!came_.wait_for(lock, std::chrono::milliseconds(100), [&] { return !waiting_.empty(); })) continue;
    auto task = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    task();  // what it throws goes to the one who waits
  }
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    waiting_.clear();
  }
  if (lost_) throw DeviceLost(*lost_);
}

}  // namespace vkformer
