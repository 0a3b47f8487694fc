#include "runtime/files/facts_file.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

constexpr std::pair<DeviceKind, const char*> kinds[] = {{DeviceKind::discrete, "discrete"},  // the best first
                                                        {DeviceKind::integrated, "integrated"},
                                                        {DeviceKind::other, "other"},
                                                        {DeviceKind::cpu, "cpu"}};

// What is written and read alike, and the least that Vulkan promises of it (Required Limits in its specification):
// kernels are chosen, and their groups divided, on the strength of that.
struct Number {
  const char* key;
  uint32_t DeviceFacts::*value;
  uint32_t least;
};
constexpr Number numbers[] = {{"subgroup_size", &DeviceFacts::subgroup_size, 1},
                              {"min_subgroup_size", &DeviceFacts::min_subgroup_size, 1},
                              {"max_subgroup_size", &DeviceFacts::max_subgroup_size, 1},
                              {"max_workgroup_size", &DeviceFacts::max_workgroup_size, 128},
                              {"shared_memory", &DeviceFacts::shared_memory, 16384},
                              {"cores", &DeviceFacts::cores, 0}};
constexpr uint32_t least_workgroups = 65535;
constexpr std::pair<const char*, uint64_t DeviceFacts::*> sizes[] = {{"max_allocation", &DeviceFacts::max_allocation},
                                                                     {"memory_total", &DeviceFacts::memory_total},
                                                                     {"memory_free", &DeviceFacts::memory_free}};
constexpr std::pair<const char*, bool DeviceFacts::*> features[] = {
    {"subgroup_shuffle", &DeviceFacts::subgroup_shuffle},
    {"full_subgroups", &DeviceFacts::full_subgroups},
    {"int64", &DeviceFacts::int64},
    {"int16", &DeviceFacts::int16},
    {"float16", &DeviceFacts::float16},
    {"bfloat16", &DeviceFacts::bfloat16},
    {"integer_dot", &DeviceFacts::integer_dot},
    {"f16_sums", &DeviceFacts::f16_sums}};

const char* name_of(DeviceKind kind) {
  return std::ranges::find(kinds, kind, &std::pair<DeviceKind, const char*>::first)->second;
}

std::string text_of(const MatrixShape& shape) {
  return fmt::format("{} {}x{}x{}", name_of(shape.type), shape.m, shape.n, shape.k);
}

MatrixShape shape_of(const std::string& text, const std::string& file) {
  for (const DType type : {DType::f16, DType::bf16}) {
    MatrixShape shape{.type = type};
    const std::string format = fmt::format("{} %ux%ux%u", name_of(type));
    if (std::sscanf(text.c_str(), format.c_str(), &shape.m, &shape.n, &shape.k) == 3 && text_of(shape) == text)
      return shape;
  }
  fail("{}: matrix_shapes has '{}', which is not like 'f16 16x16x16'", file, printable(text, 60));
}

nlohmann::json matrices_of(const DeviceFacts& facts) {
  auto list = nlohmann::json::array();
  for (const MatrixShape& shape : facts.matrix_shapes) list.push_back(text_of(shape));
  return list;
}

nlohmann::json workgroup_matrices_of(const DeviceFacts& facts) {
  auto list = nlohmann::json::array();
  if (facts.workgroup_matrices.plain) return list;
  for (const auto& [shape, invocations] : facts.workgroup_matrices.granularities)
    list.push_back(fmt::format("{} by {} invocations", text_of(shape), invocations));
  return list;
}

DeviceFacts facts_of(const JsonObject& json) {
  DeviceFacts facts{.name = require_string(json, "name"), .driver = require_string(json, "driver")};
  const std::string kind = require_string(json, "kind");
  const auto known = std::ranges::find_if(kinds, [&](const auto& each) { return kind == each.second; });
  check(known != std::end(kinds), "{}: kind is '{}', not discrete, integrated, other or cpu", json.name(),
        printable(kind, 60));
  facts.kind = known->first;
  for (const auto& [key, number, least] : numbers)
    facts.*number = static_cast<uint32_t>(require_integer(json, key, least, std::numeric_limits<uint32_t>::max()));
  for (const auto& [key, size] : sizes)
    facts.*size = static_cast<uint64_t>(require_integer(json, key, 0, std::numeric_limits<int64_t>::max()));
  if (json.value().contains("host_memory_free"))  // older files have none
    facts.host_memory_free =
        static_cast<uint64_t>(require_integer(json, "host_memory_free", 0, std::numeric_limits<int64_t>::max()));
  for (const auto& [key, feature] : features) facts.*feature = require_boolean(json, key);
  const auto& groups = json.value().value("max_workgroups", nlohmann::json{});
  check(groups.is_array() && groups.size() == 3 &&
            std::ranges::all_of(groups,
                                [](const nlohmann::json& count) {
                                  return count.is_number_unsigned() && count >= least_workgroups &&
                                         count <= std::numeric_limits<uint32_t>::max();
                                }),
        "{}: max_workgroups has to be three whole numbers from {} to 2^32 - 1", json.name(), least_workgroups);
  for (size_t axis = 0; axis < 3; ++axis) facts.max_workgroups[axis] = groups[axis];
  const auto texts = [&](const char* key) {
    auto list = json.value().value(key, nlohmann::json{});
    check(list.is_array() && std::ranges::all_of(list, [](const nlohmann::json& text) { return text.is_string(); }),
          "{}: {} has to be a list of texts", json.name(), key);
    return list;
  };
  for (const nlohmann::json& shape : texts("matrix_shapes"))
    facts.matrix_shapes.push_back(shape_of(shape, json.name()));
  // Whether there are any: only that counts.
  facts.workgroup_matrices.granularities.resize(texts("workgroup_matrices").size());
  return facts;
}

}  // namespace

nlohmann::json facts_json(const DeviceFacts& f) {
  nlohmann::json json = {
      {"name", f.name},
      {"driver", f.driver},
      {"kind", name_of(f.kind)},
      {"vendor_id", f.vendor_id},
      {"device_id", f.device_id},
      {"api", fmt::format("{}.{}.{}", f.api_version >> 22 & 0x7f, f.api_version >> 12 & 0x3ff, f.api_version & 0xfff)},
      {"host_memory_free", f.host_memory_free},
      {"max_workgroup_subgroups", f.max_workgroup_subgroups},
      {"max_workgroups", f.max_workgroups},
      {"timestamp_ns", f.timestamp_period},
      {"f16_rounded_to_nearest", f.half_modes.nearest},
      {"f16_subnormals", f.half_modes.subnormals},
      {"cooperative_matrix", f.cooperative_matrix},
      {"matrix_shapes", matrices_of(f)},
      {"workgroup_matrices", workgroup_matrices_of(f)}};
  for (const auto& [key, number, least] : numbers) json[key] = f.*number;
  for (const auto& [key, size] : sizes) json[key] = f.*size;
  for (const auto& [key, feature] : features) json[key] = f.*feature;
  return json;
}

DeviceFacts load_facts(const std::filesystem::path& file) {
  const MappedFile mapped(file);
  const nlohmann::json json = parse_json(mapped.text(), file.generic_string());
  std::vector<DeviceFacts> devices;
  for (const nlohmann::json& device : json.is_array() ? json : nlohmann::json::array({json}))
    devices.push_back(facts_of(JsonObject::parse(device.dump(), file.generic_string())));
  for (const auto& [kind, name] : kinds)
    for (const DeviceFacts& device : devices)
      if (device.kind == kind) return device;
  fail("{} has no device: it has to come from `vkformer devices --json`", file.generic_string());
}

}  // namespace vkformer
