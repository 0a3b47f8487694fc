#include "python/bindings/written.h"

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "models/constraint/grammar_constraint.h"
#include "models/constraint/json_schema.h"
#include "models/generation/text_end.h"
#include "models/nearest_name.h"
#include "python/bindings/arrays.h"
#include "runtime/check.h"

namespace vkformer::python {

namespace {

constexpr int64_t usual_new_tokens = 200;

/// Keys of generation_config.json that change nothing here.
constexpr const char* without_effect[] = {"pad_token_id", "use_cache"};

/// Throws TypeError for a setting that nobody asks for.
void check_names(const GenerationSource& source, const py::dict& given) {
  const auto known = std::make_shared<std::set<std::string, std::less<>>>();
  JsonObject json = JsonObject::make(nlohmann::json::object(), "settings");
  json.keep_asked(known);
  parse_generation_config(json, source.silent);
  known->insert({"seed", "grammar", "json_schema"});
  known->insert(std::begin(without_effect), std::end(without_effect));
  for (const auto& [key, value] : given)
    if (const auto name = text_of(key, "a setting's name"); !known->contains(name)) {
      const std::string meant = nearest_name(name, std::vector<std::string>(known->begin(), known->end()));
      throw py::type_error(fmt::format("there is no setting '{}'{}", name,
                                       meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant)));
    }
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

void note_broken_forms(const std::vector<std::vector<Hypothesis>>& results, const Prompts& prompts,
                       const GenerationConfig& config, bool goes_on) {
  if (!config.constraint) return;
  for (size_t i = 0; i < results.size(); ++i)
    for (const Hypothesis& hypothesis : results[i])
      if (!end_of(config, hypothesis.ids, goes_on ? std::ssize(prompts.ids[i]) : 1).whole)
        return log_note(fmt::format(
            "what was written for prompt {} ends before its form is complete; give it more max_new_tokens", i));
}

/// The seed that a setting asks for, or some.
uint32_t take_seed(nlohmann::json& settings) {
  const nlohmann::json seed = settings.contains("seed") ? settings["seed"] : nlohmann::json();
  settings.erase("seed");
  if (seed.is_null()) return std::random_device{}();
  if (!seed.is_number_unsigned() || seed > std::numeric_limits<uint32_t>::max())
    throw py::type_error("seed must be a whole number from 0 to 4294967295");
  return seed.get<uint32_t>();
}

}  // namespace

GenerationConfig generation_settings(LoadedModel& model, const py::dict& given) {
  const FolderTexts& texts = model.texts();
  GenerationSource source = texts.generation();
  check_names(source, given);
  nlohmann::json settings = py::len(given) > 0 ? json_of(given) : nlohmann::json::object();
  const uint32_t seed = take_seed(settings);
  auto grammar = take_grammar(settings);
  const auto has = [&](const char* name) { return settings.contains(name) && !settings[name].is_null(); };
  nlohmann::json merged = source.json.value();
  merged.update(settings);
  if (has("max_new_tokens")) merged.erase("max_length");
  for (const char* draws : {"temperature", "top_k", "top_p", "min_p"})
    if (has(draws) && !has("do_sample")) merged["do_sample"] = true;
  source.silent.usual_new_tokens = usual_new_tokens;
  GenerationConfig config =
      parse_generation_config(JsonObject::make(std::move(merged), "settings"), std::move(source.silent));
  if (config.temperature == 0) config.do_sample = false;
  config.seed = seed;
  if (texts.has_text() && !model.model().has_encoder())
    for (int64_t id = texts.text().size(); id < model.model().vocabulary; ++id)
      config.suppress_tokens.push_back(static_cast<int32_t>(id));
  if (grammar)
    config.constraint = std::make_shared<GrammarConstraint>(
        std::make_shared<GrammarTokens>(*std::move(grammar), token_bytes(texts.text().target())), config.eos_token_ids,
        model.model().has_encoder());
  return config;
}

Prompts::Prompts(const py::object& given) {
  if (py::isinstance<py::str>(given)) {
    single = true;
    texts.push_back(text_of(given, "a prompt"));
    return;
  }
  const bool sequence = py::isinstance<py::list>(given) || py::isinstance<py::tuple>(given);
  if (sequence && py::len(given) == 0) return;
  const py::object first = sequence ? py::object(given[py::int_(0)]) : py::none();
  if (py::isinstance<py::str>(first)) {
    for (const py::handle text : given) texts.push_back(text_of(text, "each prompt"));
    return;
  }
  of_ids = true;
  single = sequence ? !py::hasattr(first, "__len__") : IntArray(given, "a prompt").shape().size() == 1;
  if (single) {
    ids.push_back(IntArray(given, "a prompt").row());
  } else {
    for (const py::handle row : given) ids.push_back(IntArray(row, "a prompt").row());
  }
}

py::object written(LoadedModel& model, const Prompts& prompts, std::vector<std::vector<Hypothesis>> results,
                   const GenerationConfig& config) {
  const bool goes_on = !model.model().has_encoder();
  note_broken_forms(results, prompts, config, goes_on);
  const auto one = [&](Hypothesis& hypothesis, size_t prompt) -> py::object {
    if (prompts.of_ids) return array_of(std::move(hypothesis.ids));
    const PromptText& text = model.texts().text().target();
    if (!goes_on) return py::str(text.decode(hypothesis.ids));
    const auto stream = text.stream(prompts.ids[prompt]);
    std::string all;
    for (const int32_t id : hypothesis.ids) all += stream(id);
    return py::str(all + stream({}));
  };
  py::list all;
  for (size_t i = 0; i < results.size(); ++i) {
    Hypothesis nothing;
    if (config.num_return_sequences == 1) {
      all.append(one(results[i].empty() ? nothing : results[i].front(), i));
      continue;
    }
    py::list several;
    for (Hypothesis& hypothesis : results[i]) several.append(one(hypothesis, i));
    all.append(several);
  }
  if (prompts.single) return all[0];
  return all;
}

}  // namespace vkformer::python
