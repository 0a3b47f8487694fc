#include "models/data/number_split.h"

#include <algorithm>

#include "models/data/permutation.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr uint32_t number_stream = 0x6e756d73;

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
  return small_ + permuted(before + index, shuffled_, seed_, number_stream);
}

}  // namespace vkformer
