#include "python/bindings/written.h"

#include <pybind11/stl.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/constraint/grammar_constraint.h"
#include "models/constraint/json_schema.h"
#include "models/model_files.h"
#include "python/bindings/arrays.h"
#include "runtime/check.h"

namespace vkformer::python {

namespace {

constexpr int64_t usual_new_tokens = 200;

bool has_tokenizer(const LoadedModel& model) {
  return !model.folder().empty() && has_model_json(model.folder(), tokenizer_file);
}

/// What the files say: of a model without a folder, or with a tokenizer's alone, its config.
GenerationSource source_of(LoadedModel& model) {
  if (model.folder().empty() || !has_model_json(model.folder(), "config.json"))
    return {JsonObject::make(*model.model().config, "config.json"), {}};
  return find_generation_source(model.folder(), has_tokenizer(model) && !model.text()->has_end());
}

/// Removes the grammar that settings ask for, if they do.
std::optional<Grammar> take_grammar(nlohmann::json& settings) {
  const auto take = [&](const char* key) {
    const auto found = settings.find(key);
    nlohmann::json value = found == settings.end() ? nlohmann::json() : *found;
    settings.erase(key);
    return value;
  };
  const nlohmann::json gbnf = take("grammar"), schema = take("json_schema");
  if (!gbnf.is_null() && !schema.is_null()) throw py::type_error("give grammar or json_schema, not both");
  if (gbnf.is_string()) return parse_gbnf(gbnf.get<std::string>(), "grammar");
  if (!gbnf.is_null()) throw py::type_error("grammar must be a str of GBNF");
  if (schema.is_null()) return std::nullopt;
  const std::string text = schema.is_string() ? schema.get<std::string>() : schema.dump();
  return parse_gbnf(gbnf_of_schema_text(text, "json_schema"), "the grammar of json_schema");
}

std::vector<int32_t> row_of_ids(const py::handle& given) {
  const IntArray ids(given, "ids");
  if (ids.shape().size() != 1) throw py::value_error("a prompt of ids has one dimension");
  return {ids.values().begin(), ids.values().end()};
}

}  // namespace

GenerationConfig generation_settings(LoadedModel& model, const py::dict& given) {
  GenerationSource source = source_of(model);
  nlohmann::json settings = py::len(given) > 0 ? json_of(given) : nlohmann::json::object();
  const nlohmann::json seed = settings.contains("seed") ? settings["seed"] : nlohmann::json();
  settings.erase("seed");
  auto grammar = take_grammar(settings);
  nlohmann::json merged = source.json.value();
  merged.update(settings);
  if (settings.contains("max_new_tokens")) merged.erase("max_length");
  for (const char* draws : {"temperature", "top_k", "top_p", "min_p"})
    if (settings.contains(draws) && !settings.contains("do_sample")) merged["do_sample"] = true;
  const auto asked = std::make_shared<std::set<std::string, std::less<>>>();
  JsonObject json = JsonObject::make(std::move(merged), "settings");
  json.keep_asked(asked);
  source.silent.usual_new_tokens = usual_new_tokens;
  GenerationConfig config = parse_generation_config(json, std::move(source.silent));
  for (const auto& [name, value] : settings.items())
    if (!asked->contains(name)) throw py::type_error("there is no setting '" + name + "'");
  if (config.temperature == 0) config.do_sample = false;
  if (!seed.is_null() && !seed.is_number_unsigned()) throw py::type_error("seed must be a whole number from 0 on");
  config.seed = seed.is_null() ? std::random_device{}() : seed.get<uint32_t>();
  if (has_tokenizer(model) && !model.model().has_encoder())
    for (int64_t id = model.text()->size(); id < model.model().vocabulary; ++id)
      config.suppress_tokens.push_back(static_cast<int32_t>(id));
  if (grammar)
    config.constraint = std::make_shared<GrammarConstraint>(
        std::make_shared<GrammarTokens>(*std::move(grammar), token_bytes(model.text()->target())), config.eos_token_ids,
        model.model().has_encoder());
  return config;
}

Prompts::Prompts(const py::object& given) {
  if (py::isinstance<py::str>(given)) {
    single = true;
    texts.push_back(given.cast<std::string>());
    return;
  }
  const bool sequence = py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given);
  const size_t length = sequence ? py::len(given) : 0;
  if (sequence && length == 0) return;
  const py::object first = sequence ? py::object(given[py::int_(0)]) : py::none();
  if (py::isinstance<py::str>(first)) {
    texts = given.cast<std::vector<std::string>>();
    return;
  }
  of_ids = true;
  single = sequence ? py::isinstance<py::int_>(first) || !py::hasattr(first, "__len__")
                    : IntArray(given, "ids").shape().size() == 1;
  if (single) {
    ids.push_back(row_of_ids(given));
  } else {
    for (const py::handle row : given) ids.push_back(row_of_ids(row));
  }
}

py::object written(LoadedModel& model, const Prompts& prompts, std::vector<std::vector<Hypothesis>> results,
                   const GenerationConfig& config) {
  const auto one = [&](Hypothesis& hypothesis) -> py::object {
    if (prompts.of_ids) return array_of(std::move(hypothesis.ids));
    return py::str(model.text()->target().decode(hypothesis.ids));
  };
  py::list all;
  for (auto& best : results) {
    if (config.num_return_sequences == 1) {
      Hypothesis nothing;
      all.append(one(best.empty() ? nothing : best.front()));
      continue;
    }
    py::list several;
    for (Hypothesis& hypothesis : best) several.append(one(hypothesis));
    all.append(several);
  }
  if (prompts.single) return all[0];
  return all;
}

}  // namespace vkformer::python
