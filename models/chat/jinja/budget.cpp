#include "models/chat/jinja/budget.h"

#include "runtime/check.h"

namespace vkformer::jinja {

void Budget::step(int64_t count) {
  // Before the sum, which could overflow.
  check(count <= most_steps - steps_, "the template takes more than {} steps", most_steps);
  steps_ += count;
}

void Budget::make(size_t bytes) {
  check(bytes <= static_cast<size_t>(most_bytes - bytes_), "the template makes more than {} MiB of values",
        most_bytes >> 20);
  bytes_ += static_cast<int64_t>(bytes);
  step(static_cast<int64_t>(bytes / 16));
}

Budget::Level::Level(Budget& budget) : budget_(budget) {
  check(budget.levels_ < most_levels, "more than {} levels lie in each other", most_levels);
  ++budget.levels_;
}

}  // namespace vkformer::jinja
