#include "runtime/tuning.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/files/facts_file.h"
#include "runtime/files/json_file.h"
#include "runtime/files/user_cache.h"
#include "runtime/files/utf8.h"
#include "runtime/hash.h"

namespace vkformer {

namespace {

constexpr int64_t format = 1;
constexpr size_t size_limit = size_t{16} << 20;

/// What a file must have been measured on, but for the kernels. Of a CPU the number of cores and registers is a part.
/// Kernels are chosen by the facts, which --facts narrows; by no size of memory, which may be another after each start.
nlohmann::json identity(const DeviceFacts& facts) {
  nlohmann::json json = facts_json(facts);
  for (const char* other : {"name", "max_allocation", "memory_total", "memory_free", "host_memory_free"})
    json.erase(other);
  json.update({{"device", printable(facts.name)},
               {"driver", printable(facts.driver)},
               {"driver_version", facts.driver_version},
               {"kind", static_cast<int>(facts.kind)},
               {"threads", facts.is_cpu() ? facts.cpu_threads : 0},
               {"registers", facts.is_cpu() ? facts.cpu_registers : 0}});
  return json;
}

Tuning parse(const JsonObject& file, const DeviceFacts& facts) {
  check(require_integer(file, "format", 0, 1 << 20) == format, "{} has another format", file.name());
  const nlohmann::json expected = identity(facts);
  for (const auto& [key, value] : expected.items())
    check(file.has(key) && file.value()[key] == value,
          "{} was measured on another device or driver, or with other --facts ({})", file.name(), key);
  check(require_string(file, "kernels") == facts.kernels,
        "{} was measured with the kernels of another build; `vkformer tune` measures again", file.name());
  Tuning tuning;
  constexpr double most = 1e18;
  if (file.has("roof")) {
    const JsonObject roof = require_object(file, "roof");
    tuning.roof =
        Roof{require_number(roof, "bytes_per_second", 1, most), require_number(roof, "flops_per_second", 1, most)};
    if (roof.has("matrix_flops_per_second")) {  // not in older files
      const JsonObject matrix = require_object(roof, "matrix_flops_per_second");
      for (const auto& item : matrix.value().items())
        tuning.roof->matrix_flops_per_second[float_type(item.key())] = require_number(matrix, item.key(), 1, most);
    }
  }
  const JsonObject choices = require_object(file, "choices");
  for (const auto& item : choices.value().items()) {
    const JsonObject choice = require_object(choices, item.key());
    tuning.set(item.key(), {require_string(choice, "kernel"), require_number(choice, "seconds", 0, most)});
  }
  return tuning;
}

}  // namespace

nlohmann::json roof_json(const Roof& roof) {
  auto matrix = nlohmann::json::object();
  for (const auto& [type, rate] : roof.matrix_flops_per_second) matrix[std::string(name_of(type))] = rate;
  return {{"bytes_per_second", roof.bytes_per_second},
          {"flops_per_second", roof.flops_per_second},
          {"matrix_flops_per_second", std::move(matrix)}};
}

std::optional<RoofTimes> times_at_roof(const Roof& roof, const Cost& cost, std::optional<DType> matrix) {
  if (matrix && !roof.matrix_flops_per_second.contains(*matrix)) return {};
  const double rate = matrix ? roof.matrix_flops_per_second.at(*matrix) : roof.flops_per_second;
  return RoofTimes{.copy = cost.bytes / roof.bytes_per_second, .arithmetic = cost.flops / rate};
}

std::string signature(const Node& node) {
  std::string text = fmt::format("{} {}", node.op->name, node.attributes.to_string());
  for (size_t i = 0; i < node.inputs.size(); ++i)
    text += node.has_input(i) ? fmt::format(" {}{}", name_of(node.input_types[i].dtype), node.in(i).to_string()) : " -";
  text += " ->";
  for (const TensorType& type : node.output_types)
    text += fmt::format(" {}{}", name_of(type.dtype), type.shape.to_string());
  return text;
}

const Tuning::Choice* Tuning::find(const std::string& signature) const {
  const auto known = choices_.find(signature);
  return known == choices_.end() ? nullptr : &known->second;
}

void Tuning::merge(const Tuning& other) {
  for (const auto& [signature, choice] : other.choices_) choices_[signature] = choice;
  if (other.roof) roof = other.roof;
}

std::filesystem::path Tuning::usual_file(const DeviceFacts& facts) {
  const auto folder = user_cache();
  if (folder.empty()) return {};
  return folder / fmt::format("tuning-{:016x}.json", hash_text(hash_start, identity(facts).dump()));
}

Tuning Tuning::load(const std::filesystem::path& file, const DeviceFacts& facts, std::string& ignored) {
  std::error_code none;
  if (file.empty() || !std::filesystem::exists(file, none)) return {};
  try {
    return parse(JsonObject::load(file, size_limit), facts);
  } catch (const Error& error) {
    ignored = error.what();
    return {};
  }
}

void Tuning::save(const std::filesystem::path& file, const DeviceFacts& facts) const {
  nlohmann::json json = identity(facts);
  json["format"] = format;
  json["kernels"] = facts.kernels;
  if (roof) json["roof"] = roof_json(*roof);
  json["choices"] = nlohmann::json::object();
  for (const auto& [key, choice] : choices_)
    json["choices"][key] = {{"kernel", choice.candidate}, {"seconds", choice.seconds}};
  std::error_code ignored;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), ignored);
  write_json(file, json);
}

}  // namespace vkformer
