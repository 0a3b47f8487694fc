#pragma once
// Inputs and outputs of small programs.

#include <cstdint>
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

}  // namespace vkformer::testing
