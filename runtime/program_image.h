#pragma once
// A program as data, for running it without this library: its commands with imagined addresses.

#include <string>
#include <vector>

#include "runtime/plan.h"
#include "runtime/recorder.h"

namespace vkformer {

/// A block of memory: addresses in commands that lie in it are `address` plus an offset.
struct ImageBuffer {
  uint64_t address = 0;
  int64_t bytes = 0;
};

struct ImageCommand {
  Command command;  ///< without its pipeline
  // Of a dispatch.
  std::string kernel, variant;
  std::vector<uint32_t> constants;
  uint32_t subgroup_size = 0;       ///< required, all full; 0: any
  std::vector<uint32_t> words;      ///< SPIR-V
};

struct ProgramImage {
  MemoryPlan plan;
  std::vector<ImageBuffer> arena;  ///< by block
  ImageBuffer step, readback;
  std::vector<ImageCommand> commands;
};

}  // namespace vkformer
