#pragma once
// What a Python program asks a model to write, and what it gets.

#include <pybind11/pybind11.h>

#include "python/bindings/loaded_model.h"

namespace vkformer::python {

/// As the model's folder says, and then as `settings` do, by the names of generation_config.json, or "seed", "grammar"
/// (GBNF), "json_schema" (a dict, or its text). Without any length 200 tokens are written. Settings of draws mean that
/// tokens are drawn; None takes away what the model's file says. Throws TypeError for names that mean nothing.
GenerationConfig generation_settings(LoadedModel& model, const py::dict& settings);

/// Texts or rows of ids, one or several.
struct Prompts {
  std::vector<std::string> texts;
  std::vector<std::vector<int32_t>> ids;  ///< as given; of texts once somebody has encoded them
  bool single = false;
  bool of_ids = false;

  /// A str, ids, or a sequence of one of these. Throws TypeError or ValueError.
  explicit Prompts(const py::object& given);
};

/// What was written for each prompt: a str, or an array of ids where ids were given; lists of them where several were
/// asked for; of a single prompt just that. A note tells of those that end before their form is complete. Texts of a
/// decoder go on from their prompts, whose ids count for that.
py::object written(LoadedModel& model, const Prompts& prompts, std::vector<std::vector<Hypothesis>> results,
                   const GenerationConfig& config);

}  // namespace vkformer::python
