#include "runtime/pipeline_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace vkformer {

namespace {

struct Log {
  std::mutex mutex;
  std::vector<PipelineRecord> sorted;
};

Log& log() {
  static Log only;
  return only;
}

bool before(const PipelineRecord& a, const PipelineRecord& b) { return a.key() < b.key(); }

}  // namespace

std::string PipelineRecord::name() const {
  const std::string how = subgroup_size ? fmt::format(" in subgroups of {}", subgroup_size) : "";
  return fmt::format("{}/{}/{}{}", kernel, variant, fmt::join(constants, ","), how);
}

std::vector<PipelineRecord> pipeline_log() {
  const std::lock_guard lock(log().mutex);
  return log().sorted;
}

size_t pipelines_logged() {
  const std::lock_guard lock(log().mutex);
  return log().sorted.size();
}

PipelineCounts pipeline_counts() {
  const std::lock_guard lock(log().mutex);
  const auto made = std::ranges::count_if(
      log().sorted, [](const PipelineRecord& record) { return record.seconds > 0 || !record.failure.empty(); });
  return {log().sorted.size(), static_cast<size_t>(made)};
}

void log_pipeline(PipelineRecord record) {
  const std::lock_guard lock(log().mutex);
  std::vector<PipelineRecord>& sorted = log().sorted;
  const auto place = std::lower_bound(sorted.begin(), sorted.end(), record, before);
  if (place == sorted.end() || place->key() != record.key()) {
    sorted.insert(place, std::move(record));
    return;
  }
  record.seconds = std::max(place->seconds, record.seconds);
  record.thread_seconds = std::max(place->thread_seconds, record.thread_seconds);
  if (record.code.empty()) record.code = std::move(place->code);
  if (record.failure.empty()) record.failure = std::move(place->failure);
  *place = std::move(record);
}

std::string pipeline_table() {
  struct Total {
    int pipelines = 0;
    double seconds = 0;
  };
  std::map<std::string, Total> totals;
  Total all;
  for (const PipelineRecord& record : pipeline_log())
    for (Total* total : {&totals[record.kernel], &all}) {
      ++total->pipelines;
      total->seconds += record.seconds;
    }
  std::string table = fmt::format("{:<36} {:>10} {:>10}\n", "kernel", "pipelines", "seconds");
  for (const auto& [kernel, total] : totals)
    table += fmt::format("{:<36} {:>10} {:>10.1f}\n", kernel, total.pipelines, total.seconds);
  return table + fmt::format("all kernels: {} distinct pipelines, {:.1f} s\n", all.pipelines, all.seconds);
}

}  // namespace vkformer
