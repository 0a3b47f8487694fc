// `vkformer devices` and `vkformer ops`: what there is to run on, and what can run there.

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/files/facts_file.h"
#include "runtime/kernels.h"
#include "runtime/op.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

std::string gibibytes(uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1u << 30)); }

nlohmann::json row_of(size_t index, const DeviceListing& listing) {
  nlohmann::json row = facts_json(listing.facts);
  row.update({{"index", index}, {"unusable", listing.unusable}, {"default", listing.best}});
  return row;
}

void print_device(size_t index, const DeviceListing& listing, size_t driver_width) {
  const DeviceFacts& f = listing.facts;
  const nlohmann::json json = facts_json(f);
  const auto yes = [](bool value) { return value ? "yes" : "-"; };
  print("{:>2}{} {:<40} {:<{}} {:>7} {:>13} {:>8} {:>4} {:>4} {:>4} {:>4} {:>7} {}\n", index, listing.best ? '*' : ' ',
        f.name, f.driver, driver_width, json["api"].get<std::string>(),
        gibibytes(f.memory_free) + "/" + gibibytes(f.memory_total), f.subgroup_size, yes(f.float16), yes(f.bfloat16),
        yes(f.int64), yes(f.integer_dot), yes(f.cooperative_matrix),
        listing.unusable.empty() ? "   yes" : "no: " + listing.unusable);
  const auto line = [&](std::string_view what, const char* key) {
    if (const auto list = json[key].get<std::vector<std::string>>(); !list.empty())
      print("   {}: {}\n", what, fmt::format("{}", fmt::join(list, ", ")));
  };
  if (f.cores > 0) print("   {} cores\n", f.cores);
  line("matrix cores", "matrix_shapes");
  line("matrix cores, whole workgroups", "workgroup_matrices");
}

}  // namespace

void print_devices(bool json) {
  auto listings = list_devices();
  if (std::any_of(listings.begin(), listings.end(), [](const auto& listing) { return widen_vectors(listing.facts); }))
    listings = list_devices();
  if (json) {
    auto rows = nlohmann::json::array();
    for (size_t i = 0; i < listings.size(); ++i) rows.push_back(row_of(i, listings[i]));
    print("{}\n", rows.dump(1));
    return;
  }
  size_t driver_width = std::string_view("driver").size();
  for (const DeviceListing& listing : listings) driver_width = std::max(driver_width, listing.facts.driver.size());
  print("{:>3} {:<40} {:<{}} {:>7} {:>13} {:>8} {:>4} {:>4} {:>4} {:>4} {:>7} {:>6}\n", "", "device", "driver",
        driver_width, "API", "free/GiB", "subgroup", "fp16", "bf16", "i64", "dot", "matrix", "usable");
  for (size_t i = 0; i < listings.size(); ++i) print_device(i, listings[i], driver_width);
  if (std::ranges::any_of(listings, &DeviceListing::best)) print("*: where no --device is given\n");
}

void print_ops(const CommonFlags& flags) {
  const auto backend = open_backend(flags);
  print("{:<30} {:>8} {:>5}  {}\n", "op", "gradient", "cases", "kernels on " + backend->facts().name);
  for (const Op* op : all_ops()) {
    const auto cases = op->cases ? op->cases() : std::vector<Case>{};
    std::vector<std::string> kernels;
    for (const Case& c : cases) {
      if (!op->candidates) break;
      Graph graph;
      Values inputs;
      for (size_t i = 0; i < c.inputs.size(); ++i)
        inputs.push_back(c.inputs[i].absent
                             ? Value{}
                             : graph.input(fmt::format("{}", i), c.inputs[i].type.shape, c.inputs[i].type.dtype));
      graph.add(*op, inputs, c.attributes);
      for (std::string_view kernel : op->candidates(graph.nodes().front(), backend->facts()))
        if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end()) kernels.emplace_back(kernel);
    }
    std::string list = op->candidates ? "" : op->renames_storage() ? "(storage only)" : std::string(op->name);
    for (const std::string& kernel : kernels) list += (list.empty() ? "" : ", ") + kernel;
    print("{:<30} {:>8} {:>5}  {}\n", op->name, op->gradient ? "yes" : "-", cases.size(),
          list.empty() ? "not supported" : list);
  }
  for (const KernelVariant& kernel : kernel_variants())
    if (!kernel.built) print("not built: {} ({})\n", kernel.kernel, kernel.variant);
}

}  // namespace vkformer
