#include "models/data/number_split.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/random.h"

namespace vkformer {

namespace {

/// Element `index` of a permutation of [0, count): a Feistel network, whose rounds are Philox, on the smallest even
/// number of bits that holds it, followed until it comes back into the range.
int64_t permuted(int64_t index, int64_t count, uint32_t seed) {
  constexpr uint32_t split_stream = 0x6e756d73, rounds = 8;
  int half = 1;
  while (int64_t{1} << (2 * half) < count) ++half;
  const uint32_t mask = (uint32_t{1} << half) - 1;
  do {
    auto left = static_cast<uint32_t>(index >> half), right = static_cast<uint32_t>(index) & mask;
    for (uint32_t round = 0; round < rounds; ++round) {
      const uint32_t word = philox4x32_10({right, round, 0, 0}, {seed, split_stream})[0];
      left = std::exchange(right, left ^ (word & mask));
    }
    index = int64_t{left} << half | right;
  } while (index >= count);
  return index;
}

}  // namespace

NumberSplit::NumberSplit(const Settings& s)
    : seed_(s.seed), small_(std::min<int64_t>(100, s.last / 10)), shuffled_(s.last + 1 - small_) {
  const int64_t share = std::min<int64_t>(1000, (s.last + 1) / 10);
  valid_ = s.valid.value_or(share);
  test_ = s.test.value_or(share);
  const int64_t left = shuffled_ - valid_ - test_;
  if (left < 1)
    throw UsageError(
        fmt::format("{} numbers for validation and {} for test leave none of the {} from {} to {} to train "
                    "on; ask for fewer or for larger numbers",
                    valid_, test_, shuffled_, small_, s.last));
  train_ = std::min(s.train.value_or(small_ + left), small_ + left);
  if (train_ < small_)
    throw UsageError(fmt::format("{} training numbers are too few: the {} numbers below {} are always trained on",
                                 train_, small_, small_));
}

int64_t NumberSplit::size(Part part) const {
  switch (part) {
    case Part::train: return train_;
    case Part::valid: return valid_;
    case Part::test: return test_;
  }
  fail("there is no such part");
}

int64_t NumberSplit::number(Part part, int64_t index) const {
  check(index >= 0 && index < size(part), "the part has {} numbers and no number {}", size(part), index);
  if (part == Part::train && index < small_) return index;
  // Test comes first and validation next, so that a test set stays while the other sizes change.
  const int64_t before = part == Part::test ? 0 : part == Part::valid ? test_ : test_ + valid_ - small_;
  return small_ + permuted(before + index, shuffled_, seed_);
}

}  // namespace vkformer
