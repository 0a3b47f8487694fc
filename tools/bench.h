#pragma once
// What `vkformer bench` was asked for.

#include "tools/commands.h"

namespace vkformer {

struct BenchFlags {
  CommonFlags common;
  // One op.
  std::string op;
  std::vector<std::string> inputs, attributes;
  std::string candidate;
  // A model.
  std::string model = "4x128x4:65:64";
  std::vector<int64_t> prompts{64}, tokens{32};
  int64_t batch = 12;
  std::string output = "md";
  int repetitions = 5;
};

void bench_op(const BenchFlags& flags);
void bench_model(const BenchFlags& flags);

}  // namespace vkformer
