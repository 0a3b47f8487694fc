#pragma once
// Which compute pipelines this process had its drivers make, and how long that took: what a conformance run or a suite
// costs on drivers that compile for long is their number.

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace vkformer {

/// One distinct pipeline, however often it was made.
struct PipelineRecord {
  std::string kernel, variant;
  std::vector<uint32_t> constants;
  uint32_t subgroup_size = 0;  ///< required; 0: any
  double seconds = 0;          ///< of the slowest time it was made; little where a cache had it

  /// "matmul_tile/f32/0,64,32"
  std::string name() const;
  auto key() const { return std::tie(kernel, variant, constants, subgroup_size); }
};

/// All pipelines of all backends so far, by kernel, variant and constants. From any thread.
std::vector<PipelineRecord> pipeline_log();
/// How many those are.
size_t pipelines_logged();
/// Called when a program asks for one, and again with the seconds when the driver has made it. From any thread.
void log_pipeline(PipelineRecord record);

/// The log by kernel: distinct pipelines and seconds, and a last line "all kernels: 123 distinct pipelines, 45.6 s".
std::string pipeline_table();

}  // namespace vkformer
