#include "runtime/files/facts_file.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/mapped_file.h"

namespace vkformer {

namespace {

constexpr std::pair<DeviceKind, const char*> kinds[] = {{DeviceKind::discrete, "discrete"},  // the best first
                                                        {DeviceKind::integrated, "integrated"},
                                                        {DeviceKind::other, "other"},
                                                        {DeviceKind::cpu, "cpu"}};

const char* name_of(DeviceKind kind) {
  return std::ranges::find(kinds, kind, &std::pair<DeviceKind, const char*>::first)->second;
}

std::string text_of(const MatrixShape& shape) {
  return fmt::format("{} {}x{}x{}", name_of(shape.type), shape.m, shape.n, shape.k);
}

nlohmann::json matrices_of(const DeviceFacts& facts) {
  auto list = nlohmann::json::array();
  for (const MatrixShape& shape : facts.matrix_shapes) list.push_back(text_of(shape));
  return list;
}

nlohmann::json workgroup_matrices_of(const DeviceFacts& facts) {
  auto list = nlohmann::json::array();
  for (const auto& [shape, invocations] : facts.workgroup_matrices.granularities)
    list.push_back(fmt::format("{} by {} invocations", text_of(shape), invocations));
  return list;
}

DeviceFacts facts_of(const JsonObject& json) {
  const auto number = [&](const char* key) {
    return static_cast<uint32_t>(require_integer(json, key, 0, std::numeric_limits<uint32_t>::max()));
  };
  const auto bytes = [&](const char* key) {
    return static_cast<uint64_t>(require_integer(json, key, 0, std::numeric_limits<int64_t>::max()));
  };
  DeviceFacts facts{.name = require_string(json, "name"), .driver = require_string(json, "driver")};
  const std::string kind = require_string(json, "kind");
  for (const auto& [value, name] : kinds)
    if (kind == name) facts.kind = value;
  facts.subgroup_size = number("subgroup_size");
  facts.min_subgroup_size = number("min_subgroup_size");
  facts.max_subgroup_size = number("max_subgroup_size");
  facts.max_workgroup_size = number("max_workgroup_size");
  const auto& groups = json.value().value("max_workgroups", nlohmann::json{});
  check(groups.is_array() && groups.size() == 3 &&
            std::ranges::all_of(groups, [](const nlohmann::json& count) { return count.is_number_unsigned(); }),
        "{}: max_workgroups has to be three whole numbers", json.name());
  for (size_t axis = 0; axis < 3; ++axis) facts.max_workgroups[axis] = groups[axis];
  facts.shared_memory = number("shared_memory");
  facts.max_allocation = bytes("max_allocation");
  facts.memory_total = bytes("memory_total");
  facts.memory_free = bytes("memory_free");
  facts.cores = number("cores");
  facts.subgroup_shuffle = require_boolean(json, "subgroup_shuffle");
  facts.full_subgroups = require_boolean(json, "full_subgroups");
  facts.int64 = require_boolean(json, "int64");
  facts.int16 = require_boolean(json, "int16");
  facts.float16 = require_boolean(json, "float16");
  facts.bfloat16 = require_boolean(json, "bfloat16");
  facts.integer_dot = require_boolean(json, "integer_dot");
  return facts;
}

}  // namespace

nlohmann::json facts_json(const DeviceFacts& f) {
  return {
      {"name", f.name},
      {"driver", f.driver},
      {"kind", name_of(f.kind)},
      {"vendor_id", f.vendor_id},
      {"device_id", f.device_id},
      {"api", fmt::format("{}.{}.{}", f.api_version >> 22 & 0x7f, f.api_version >> 12 & 0x3ff, f.api_version & 0xfff)},
      {"memory_total", f.memory_total},
      {"memory_free", f.memory_free},
      {"max_allocation", f.max_allocation},
      {"cores", f.cores},
      {"shared_memory", f.shared_memory},
      {"max_workgroup_size", f.max_workgroup_size},
      {"max_workgroups", f.max_workgroups},
      {"subgroup_size", f.subgroup_size},
      {"min_subgroup_size", f.min_subgroup_size},
      {"max_subgroup_size", f.max_subgroup_size},
      {"subgroup_shuffle", f.subgroup_shuffle},
      {"full_subgroups", f.full_subgroups},
      {"float16", f.float16},
      {"bfloat16", f.bfloat16},
      {"int16", f.int16},
      {"int64", f.int64},
      {"integer_dot", f.integer_dot},
      {"timestamp_ns", f.timestamp_period},
      {"cooperative_matrix", f.cooperative_matrix},
      {"matrix_shapes", matrices_of(f)},
      {"workgroup_matrices", workgroup_matrices_of(f)}};
}

DeviceFacts load_facts(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const nlohmann::json json = parse_json(mapped.text(), file.string());
  std::vector<DeviceFacts> devices;
  for (const nlohmann::json& device : json.is_array() ? json : nlohmann::json::array({json}))
    devices.push_back(facts_of(JsonObject::parse(device.dump(), file.string())));
  for (const auto& [kind, name] : kinds)
    for (const DeviceFacts& device : devices)
      if (device.kind == kind) return device;
  fail("{} has no device: it has to come from `vkformer devices --json`", file.string());
}

}  // namespace vkformer
