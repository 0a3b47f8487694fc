#include "tools/cli/serve/text_batches.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace vkformer {

namespace {

int64_t rounded_up(int64_t count) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(count))); }

}  // namespace

void for_batches_of_request(
    const TokenTexts& texts, const Model& model, const TextLimits& limits, const DeviceQueue::CheckWanted& check_wanted,
    const std::function<void(const DataBatch& batch, std::span<const uint32_t> examples)>& take) {
  const TextInputs inputs = text_inputs(model, texts.largest_segment());
  std::vector<uint32_t> order(texts.ids.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto length = [&](uint32_t text) { return std::ssize(texts.ids[text]); };
  std::ranges::stable_sort(order, std::greater{}, length);
  for (size_t done = 0; done < order.size();) {
    check_wanted();
    const int64_t longest = std::min(limits.most_tokens, rounded_up(length(order[done])));
    const auto most = static_cast<size_t>(std::max<int64_t>(1, limits.positions / longest));
    const std::span batch = std::span(order).subspan(done, std::min(most, order.size() - done));
    const LengthBatches::Bucket bucket{.length = longest, .rows = rounded_up(std::ssize(batch))};
    take(text_batch(text_shape(bucket, inputs), texts, batch, inputs), batch);
    done += batch.size();
  }
}

}  // namespace vkformer
