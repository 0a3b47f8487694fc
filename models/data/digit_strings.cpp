#include "models/data/digit_strings.h"

#include <fmt/format.h>

#include "models/data/draws.h"
#include "models/data/permutation.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr uint32_t digit_stream = 0x64696700, length_stream = 0x6c656e67;

/// The strings of one length that a part may have: places in a shuffled order of all, and how many were not taken yet.
struct DigitPool {
  int64_t length, all, begin, size, left;
};

DigitPool pool_of(NumberSplit::Part part, int64_t length) {
  int64_t all = 1;
  for (int64_t i = 0; i < length; ++i) all *= 10;
  const int64_t tenth = all / 10;
  const int64_t begin = part == NumberSplit::Part::test ? 0 : part == NumberSplit::Part::valid ? tenth : 2 * tenth;
  const int64_t size = part == NumberSplit::Part::train ? all - begin : tenth;
  return {.length = length, .all = all, .begin = begin, .size = size, .left = size};
}

}  // namespace

std::vector<std::string> digit_strings(NumberSplit::Part part, int64_t count, int64_t longest, uint32_t seed) {
  check(longest >= 1 && longest <= 15, "[digit_strings] {} digits: choose 1 to 15", longest);
  std::vector<DigitPool> taken_out, pools;
  for (int64_t length = 1; length <= longest; ++length) pools.push_back(pool_of(part, length));
  Draws draws(seed, length_stream, static_cast<uint64_t>(part));
  std::vector<std::string> strings;
  while (std::ssize(strings) < count) {
    const auto chosen = pools.begin() + draws.below(std::ssize(pools));
    const int64_t place = chosen->begin + chosen->size - chosen->left;
    const auto stream = digit_stream + static_cast<uint32_t>(chosen->length);
    strings.push_back(fmt::format("{:0{}}", permuted(place, chosen->all, seed, stream), chosen->length));
    if (--chosen->left > 0) continue;
    chosen->left = chosen->size;
    taken_out.push_back(*chosen);
    pools.erase(chosen);
    if (pools.empty()) pools.swap(taken_out);
  }
  return strings;
}

}  // namespace vkformer
