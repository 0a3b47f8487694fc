#include "models/families/config_keys.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

size_t architecture_of(const JsonObject& config, const std::vector<std::string>& known, bool required) {
  if (!required && !config.has("architectures")) return 0;
  const nlohmann::json given = config.has("architectures") ? config.value()["architectures"] : nlohmann::json();
  if (given.is_array() && given.size() == 1 && given[0].is_string())
    if (const auto found = std::find(known.begin(), known.end(), given[0].get<std::string>()); found != known.end())
      return static_cast<size_t>(found - known.begin());
  check(given.is_null() || given.is_array(), "{}: architectures must be a list [\"..\"], not {}", config.name(),
        printable(given.dump(), 200));
  const std::string said = given.is_null()
                               ? "names no architectures"
                               : fmt::format("architectures {} is not supported", printable(given.dump(), 200));
  fail("{}: {}; of {} vkformer runs {}", config.name(), said, require_string(config, "model_type"),
       fmt::join(known, ", "));
}

std::vector<std::string> require_layer_names(const JsonObject& config, const char* key,
                                             const std::vector<std::string_view>& known, size_t layers) {
  const nlohmann::json& names = config.value()[key];
  const auto is_known = [&](const nlohmann::json& name) {
    return std::ranges::any_of(known, [&](std::string_view one) { return name == one; });
  };
  check(names.is_array() && names.size() == layers && std::ranges::all_of(names, is_known),
        "{}: {} must name \"{}\" or \"{}\" for each of the {} layers", config.name(), key, known[0], known[1], layers);
  return names.get<std::vector<std::string>>();
}

std::vector<std::string> classes_of(const JsonObject& config, size_t fewest) {
  const bool named = config.has("id2label");
  const JsonObject labels = named ? require_object(config, "id2label") : config;
  const auto count =
      named ? labels.value().size() : static_cast<size_t>(integer_or(config, "num_labels", 2, 1, most_classes));
  const char* key = named ? "id2label" : "num_labels";
  check(count >= fewest, "{}: {} gives {} class{}{}; at least {} are needed", config.name(), key, count,
        count == 1 ? "" : "es", count == 1 ? ", which means regression" : "", fewest);
  check(count <= most_classes, "{}: {} gives {} classes; at most {} are supported", config.name(), key, count,
        most_classes);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i)
    names.push_back(named ? require_string(labels, std::to_string(i)) : fmt::format("LABEL_{}", i));
  return names;
}

Problem problem_of(const JsonObject& config, size_t classes) {
  const std::string problem = string_or(config, "problem_type", "");
  if (problem == "multi_label_classification" || (classes == 1 && problem.empty())) return Problem::each_class;
  if (problem == "regression") {
    check(classes == 1, "{}: problem_type 'regression' of {} numbers is not supported; of one it is", config.name(),
          classes);
    return Problem::number;
  }
  check_problem(config);
  return Problem::one_class;
}

void check_problem(const JsonObject& config) {
  const std::string problem = string_or(config, "problem_type", "single_label_classification");
  check(problem == "single_label_classification",
        "{}: problem_type '{}' is not supported; single_label_classification is", config.name(),
        printable(problem, 60));
}

}  // namespace vkformer
