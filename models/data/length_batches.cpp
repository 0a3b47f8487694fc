#include "models/data/length_batches.h"

#include <algorithm>
#include <numeric>

#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

namespace {

constexpr uint32_t order_stream = 0x6f726472;

/// Fisher and Yates' shuffle; `stream` tells the shuffles of an epoch apart.
template <class T>
void shuffle(std::vector<T>& items, uint32_t seed, int64_t epoch, uint32_t stream) {
  for (size_t i = items.size(); i > 1; --i) {
    const auto words =
        philox4x32_10({static_cast<uint32_t>(i), static_cast<uint32_t>(epoch), stream, 0}, {seed, order_stream});
    std::swap(items[i - 1], items[(uint64_t{words[0]} << 32 | words[1]) % i]);
  }
}

int64_t rounded_up(int64_t length, int64_t multiple) { return (length + multiple - 1) / multiple * multiple; }

/// Rows of so many positions that the bound of a batch leaves room for.
int64_t rows_within(const LengthBatches::Settings& settings, int64_t length) {
  return std::max<int64_t>(settings.positions / length, 1);
}

}  // namespace

std::vector<int64_t> choose_lengths(std::span<const int64_t> counts, int64_t tokens, int64_t sides, int64_t multiple,
                                    int64_t most, double padding) {
  // below[n]: examples of at most n positions.
  std::vector<int64_t> below(counts.size());
  std::partial_sum(counts.begin(), counts.end(), below.begin());
  std::vector<int64_t> lengths;  // candidates, after a zero that holds nothing
  lengths.push_back(0);
  for (size_t n = 1; n < counts.size(); ++n)
    if (const int64_t length = rounded_up(static_cast<int64_t>(n), multiple); counts[n] > 0 && length != lengths.back())
      lengths.push_back(length);
  const auto held = [&](int64_t length) { return below[std::min(static_cast<size_t>(length), below.size() - 1)]; };
  // least[k][j]: positions of the examples of up to lengths[j] in k shapes, of which lengths[j] is one.
  constexpr int64_t never = int64_t{1} << 62;
  std::vector<std::vector<int64_t>> least(1, std::vector<int64_t>(lengths.size(), never));
  std::vector<std::vector<size_t>> before(1, std::vector<size_t>(lengths.size()));
  least[0][0] = 0;
  const auto share = [&](int64_t positions) {
    return 1 - static_cast<double>(tokens) / static_cast<double>(sides * positions);
  };
  do {
    const std::vector<int64_t>& fewer = least.back();
    std::vector<int64_t> now(lengths.size(), never);
    std::vector<size_t> from(lengths.size());
    for (size_t j = 1; j < lengths.size(); ++j)
      for (size_t i = 0; i < j; ++i) {
        if (fewer[i] == never) continue;
        const int64_t positions = fewer[i] + lengths[j] * (held(lengths[j]) - held(lengths[i]));
        if (positions < now[j]) now[j] = positions, from[j] = i;
      }
    if (now.back() == never) break;  // as many shapes as lengths
    least.push_back(std::move(now));
    before.push_back(std::move(from));
  } while (std::ssize(least) - 1 < most && share(least.back().back()) > padding);
  std::vector<int64_t> chosen;
  size_t at = lengths.size() - 1;
  for (size_t k = least.size() - 1; k > 0; --k) {
    chosen.push_back(lengths[at]);
    at = before[k][at];
  }
  std::reverse(chosen.begin(), chosen.end());
  return chosen;
}

LengthBatches::LengthBatches(std::span<const ExampleLength> lengths, const Settings& settings) : settings_(settings) {
  check(!lengths.empty(), "there are no examples to train on");
  const int64_t sides = lengths.front().source > 0 ? 2 : 1;
  std::vector<int64_t> counts;
  int64_t tokens = 0;
  for (const ExampleLength& example : lengths) {
    const auto longest = static_cast<size_t>(example.longest());
    if (counts.size() <= longest) counts.resize(longest + 1);
    ++counts[longest];
    tokens += example.source + example.target;
  }
  for (int64_t length :
       choose_lengths(counts, tokens, sides, settings.multiple, settings.most_shapes, settings.padding))
    buckets_.push_back({.length = length, .rows = rows_within(settings, length), .examples = {}});
  for (uint32_t i = 0; i < lengths.size(); ++i) buckets_[bucket_of(lengths[i])].examples.push_back(i);
  int64_t positions = 0;
  for (Bucket& bucket : buckets_) {
    const auto examples = std::ssize(bucket.examples);
    bucket.rows = std::min<int64_t>(bucket.rows, examples);  // small data
    if (settings.most_rows > 0) {
      // A last batch of few rows would weigh as much as the others in training.
      bucket.rows = std::min(bucket.rows, settings.most_rows);
      const int64_t even = (examples + bucket.rows - 1) / bucket.rows;
      bucket.rows = (examples + even - 1) / even;
    }
    const int64_t batches = (examples + bucket.rows - 1) / bucket.rows;
    epoch_batches_ += batches;
    positions += batches * bucket.rows * bucket.length * sides;
  }
  padding_ = 1 - static_cast<double>(tokens) / static_cast<double>(positions);
}

void LengthBatches::make_room(std::span<const ExampleLength> others) {
  int64_t longest = 0, longer = 0;
  for (const ExampleLength& example : others) {
    longest = std::max(longest, example.longest());
    longer += example.longest() > buckets_.back().length;
  }
  if (longer == 0) return;
  const int64_t length = rounded_up(longest, settings_.multiple);
  int64_t rows = std::min(rows_within(settings_, length), longer);
  if (settings_.most_rows > 0) rows = std::min(rows, settings_.most_rows);
  buckets_.push_back({.length = length, .rows = rows, .examples = {}});
}

size_t LengthBatches::bucket_of(const ExampleLength& example) const {
  const auto bucket = std::ranges::lower_bound(buckets_, example.longest(), {}, &Bucket::length);
  check(bucket != buckets_.end(), "an example has {} tokens, the longest shape {}", example.longest(),
        buckets_.back().length);
  return static_cast<size_t>(bucket - buckets_.begin());
}

void LengthBatches::append_batches(std::vector<Batch>& batches, size_t bucket,
                                   std::span<const uint32_t> examples) const {
  const auto rows = static_cast<size_t>(buckets_[bucket].rows);
  for (; !examples.empty(); examples = examples.subspan(std::min(rows, examples.size()))) {
    const auto taken = examples.first(std::min(rows, examples.size()));
    batches.push_back({bucket, {taken.begin(), taken.end()}});
  }
}

std::vector<LengthBatches::Batch> LengthBatches::in_order(std::span<const ExampleLength> lengths) const {
  std::vector<std::vector<uint32_t>> examples(buckets_.size());
  for (uint32_t i = 0; i < lengths.size(); ++i) examples[bucket_of(lengths[i])].push_back(i);
  std::vector<Batch> batches;
  for (size_t b = 0; b < buckets_.size(); ++b) append_batches(batches, b, examples[b]);
  return batches;
}

LengthBatches::Epoch LengthBatches::shuffled(int64_t number) const {
  Epoch epoch{.number = number, .batches = {}};
  for (size_t b = 0; b < buckets_.size(); ++b) {
    std::vector<uint32_t> examples = buckets_[b].examples;
    shuffle(examples, settings_.seed, number, static_cast<uint32_t>(b + 1));
    append_batches(epoch.batches, b, examples);
  }
  shuffle(epoch.batches, settings_.seed, number, 0);
  return epoch;
}

LengthBatches::Batch LengthBatches::batch(int64_t number) const {
  const int64_t epoch = number / epoch_batches_;
  if (current_.number != epoch) current_ = shuffled(epoch);
  return current_.batches[static_cast<size_t>(number % epoch_batches_)];
}

}  // namespace vkformer
