#include "tools/cli/train_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

double mebibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

/// At most `most` of the first program's temporaries, biggest first.
std::span<const PlannedItem> biggest(const TrainingPlan& plan, size_t most) {
  const std::vector<PlannedItem>& items = plan.programs.front().memory.items;
  return std::span(items).first(std::min(most, items.size()));
}

std::optional<int64_t> saved_bytes(const TrainingPlan& plan, const Backend& backend) {
  if (!plan.settings.checkpoint_activations) return std::nullopt;
  return bytes_saved_by_recomputing(plan, backend);
}

}  // namespace

void print_plan(const TrainingPlan& plan, const Backend& backend) {
  for (const TrainingPlan::Row& row : plan.rows()) print("  {:<34} {:>10.2f} MiB\n", row.what, mebibytes(row.bytes));
  const int64_t total = plan.total_bytes();
  print("  {:<34} {:>10.2f} MiB, {} bytes\n", "total", mebibytes(total), total);
  std::string shares;
  for (const TrainingPlan::Row& row : plan.temporaries())
    shares += fmt::format("{}{} {:.2f} MiB", shares.empty() ? "" : ", ", row.what, mebibytes(row.bytes));
  print("temporaries, in the same memory: {}; live set of the first: {:.2f} MiB\n", shares,
        mebibytes(plan.programs.front().memory.live_set_bytes));
  if (const auto saved = saved_bytes(plan, backend))
    print("computing activations again saves {:.2f} MiB\n", mebibytes(*saved));
  const DeviceFacts& facts = backend.facts();
  if (const int64_t in_host = plan.layout.host_bytes(); in_host > 0)
    print("{:.2f} MiB of that lie in host memory, {:.2f} MiB on the device\n", mebibytes(in_host),
          mebibytes(plan.device_bytes()));
  if (facts.memory_total > 0)
    print("needs {} MiB, {} has {} MiB free\n", (plan.device_bytes() >> 20) + 1, facts.name, facts.memory_free >> 20);
}

void print_dry_run(const TrainingPlan& plan, const Backend& backend, bool json) {
  const auto largest = biggest(plan, 8);
  if (json) {
    nlohmann::json out = {{"total_bytes", plan.total_bytes()},
                          {"host_bytes", plan.layout.host_bytes()},
                          {"live_set_bytes", plan.programs.front().memory.live_set_bytes}};
    if (const auto saved = saved_bytes(plan, backend)) out["saved_bytes"] = *saved;
    for (const TrainingPlan::Row& row : plan.rows()) out["rows"][row.what] = row.bytes;
    for (const TrainingPlan::Row& row : plan.temporaries()) out["temporaries"][row.what] = row.bytes;
    for (const PlannedItem& item : largest) out["biggest"].push_back({item.name, item.bytes});
    print("{}\n", out.dump(1));
    return;
  }
  print_plan(plan, backend);
  print("biggest temporaries:\n");
  for (const PlannedItem& item : largest) print("  {:<52} {:>10.2f} MiB\n", item.name, mebibytes(item.bytes));
}

void check_fits(const TrainingPlan& plan, const Backend& backend) {
  const DeviceFacts& facts = backend.facts();
  const int64_t needed = plan.device_bytes();
  if (facts.memory_total == 0 || static_cast<uint64_t>(needed) <= facts.memory_free) return;
  std::string names;
  for (const PlannedItem& item : biggest(plan, 3))
    names += fmt::format("{}{} ({} MiB)", names.empty() ? "" : ", ", item.name, item.bytes >> 20);
  const std::string room = backend.roomier_device(static_cast<uint64_t>(needed));
  fail(
      "training needs {} MiB, {} has {} MiB free; the biggest temporaries: {}; use {}{}a smaller --batch (with "
      "--accumulate), --context or model{}{}",
      needed >> 20, facts.name, facts.memory_free >> 20, names,
      plan.settings.checkpoint_activations ? "" : "--checkpoint-activations, ",
      plan.settings.offload_optimizer || facts.host_memory_free == 0 ? "" : "--offload-optimizer, ",
      room.empty() ? "" : "; ", room);
}

}  // namespace vkformer
