#pragma once
// Which compute pipelines this process had its drivers make, and how long that took: what a conformance run or a suite
// costs on drivers that compile for long is their number.

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace vkformer {

/// What a driver says of machine code that it made; some make several for one pipeline and choose among them at a
/// dispatch.
struct PipelineCode {
  uint32_t subgroup_size = 0;
  std::map<std::string, double> statistics;  ///< under the driver's own names: see runtime/pipeline_figures.h
};

/// One distinct pipeline, however often it was made.
struct PipelineRecord {
  std::string kernel, variant;
  std::vector<uint32_t> constants;
  uint32_t subgroup_size = 0;  ///< required; 0: any
  double seconds = 0;          ///< of the slowest time it was made; little where a cache had it
  /// The same in computing by the thread that asked: nothing for others beside it, but for drivers that hand work on.
  double thread_seconds = 0;
  std::string failure = {};             ///< why the driver could not make it
  std::vector<PipelineCode> code = {};  ///< with BackendOptions::inspect, where the driver tells

  /// "matmul_tile/f32/0,64,32", "softmax/subgroup/32,768,1 in subgroups of 32": another name for every pipeline.
  std::string name() const;
  auto key() const { return std::tie(kernel, variant, constants, subgroup_size); }
};

/// All pipelines of all backends so far, by kernel, variant and constants. From any thread.
std::vector<PipelineRecord> pipeline_log();
/// How many those are.
size_t pipelines_logged();
/// How many those are, and how many of them the driver is done with. Allocates nothing.
struct PipelineCounts {
  size_t all = 0, made = 0;
};
PipelineCounts pipeline_counts();
/// Called when a program asks for one, and again with the seconds when the driver has made it. From any thread.
void log_pipeline(PipelineRecord record);

/// The log by kernel: distinct pipelines and seconds, and a last line "all kernels: 123 distinct pipelines, 45.6 s".
std::string pipeline_table();

}  // namespace vkformer
