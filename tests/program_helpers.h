#pragma once
// Inputs and outputs of small programs.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/backend.h"

namespace vkformer::testing {

/// `count` values between -1 and 1.
inline std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 97) / 48.5f - 1;
  return values;
}

/// Inputs by name, with their numbers of elements.
using RampInputs = std::vector<std::pair<std::string, size_t>>;

inline void fill_with_ramps(Program& program, const RampInputs& inputs) {
  for (const auto& [name, count] : inputs) program.write(name, ramp(count));
}

/// What "y" is when each input is a ramp.
inline std::vector<float> run_on_ramps(Program& program, const RampInputs& inputs) {
  fill_with_ramps(program, inputs);
  program.run();
  return program.read("y");
}

/// Of two lists of one length, and of numbers; else infinity.
inline double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = a.size() == b.size() ? 0 : std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

}  // namespace vkformer::testing
