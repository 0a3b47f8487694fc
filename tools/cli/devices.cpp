// `vkformer devices` and `vkformer ops`: what there is to run on, and what can run there.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/kernels.h"
#include "runtime/op.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

std::string gibibytes(uint64_t bytes) { return fmt::format("{:.1f}", static_cast<double>(bytes) / (1u << 30)); }

}  // namespace

void print_devices(bool json) {
  auto listings = list_devices();
  if (std::any_of(listings.begin(), listings.end(), [](const auto& listing) { return widen_vectors(listing.facts); }))
    listings = list_devices();
  auto rows = nlohmann::json::array();
  if (!json)
    print("{:>2} {:<40} {:<34} {:>7} {:>13} {:>8} {:>4} {:>4} {:>4} {:>4} {:>7} {:>6}\n", "", "device", "driver", "API",
          "free/GiB", "subgroup", "fp16", "bf16", "i64", "dot", "matrix", "usable");
  for (size_t i = 0; i < listings.size(); ++i) {
    const DeviceFacts& f = listings[i].facts;
    const auto yes = [](bool value) { return value ? "yes" : "-"; };
    const std::string api =
        fmt::format("{}.{}.{}", f.api_version >> 22 & 0x7f, f.api_version >> 12 & 0x3ff, f.api_version & 0xfff);
    std::vector<std::string> shapes;
    for (const MatrixShape& shape : f.matrix_shapes)
      shapes.push_back(fmt::format("{}x{}x{}", shape.m, shape.n, shape.k));
    if (json)
      rows.push_back({{"index", i},
                      {"name", f.name},
                      {"driver", f.driver},
                      {"api", api},
                      {"memory_total", f.memory_total},
                      {"memory_free", f.memory_free},
                      {"subgroup_size", f.subgroup_size},
                      {"float16", f.float16},
                      {"bfloat16", f.bfloat16},
                      {"int64", f.int64},
                      {"integer_dot", f.integer_dot},
                      {"cooperative_matrix", f.cooperative_matrix},
                      {"matrix_shapes_f16", shapes},
                      {"unusable", listings[i].unusable}});
    else
      print("{:>2} {:<40} {:<34} {:>7} {:>13} {:>8} {:>4} {:>4} {:>4} {:>4} {:>7} {}\n", i, f.name, f.driver, api,
            gibibytes(f.memory_free) + "/" + gibibytes(f.memory_total), f.subgroup_size, yes(f.float16),
            yes(f.bfloat16), yes(f.int64), yes(f.integer_dot), yes(f.cooperative_matrix),
            listings[i].unusable.empty() ? "   yes" : "no: " + listings[i].unusable);
  }
  if (json) print("{}\n", rows.dump(1));
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
