#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "models/generation/target_language.h"
#include "models/model_files.h"
#include "python/bindings/arrays.h"
#include "python/bindings/chat_text.h"
#include "python/bindings/module.h"
#include "python/bindings/telling.h"
#include "python/bindings/timing_rows.h"
#include "python/bindings/written.h"
#include "runtime/check.h"

namespace vkformer::python {

namespace {

// What models compute -----------------------------------------------------------------------------------------------

/// Text as ids, or ids as they are.
std::vector<int32_t> ids_of(const PromptText* text, const py::object& given, const char* what) {
  return text ? text->encode(text_of(given, what)) : IntArray(given, what).row();
}

py::list attention(LoadedModel& model, const py::object& text, const py::object& target) {
  const bool encoder = model.model().has_encoder();
  check(encoder != target.is_none(), "{}",
        encoder ? "an encoder-decoder looks at a text and its target; give both"
                : "this model has no decoder behind an encoder; give one text");
  const auto tokenizer_for = [&](const py::object& given) {
    return py::isinstance<py::str>(given) ? &model.texts().text() : nullptr;
  };
  InspectedText inspected;
  (encoder ? inspected.source : inspected.ids) = ids_of(tokenizer_for(text), text, "text");
  if (encoder) {
    const PromptText* tokenizer = tokenizer_for(target);
    inspected.ids = ids_of(tokenizer ? &tokenizer->target() : nullptr, target, "target");
    if (tokenizer) {  // each position writes the token that the next one reads
      inspected.ids.insert(inspected.ids.begin(), generation_settings(model, {}).decoder_start());
      inspected.ids.pop_back();
    }
  }
  py::list maps;
  for (AttentionMap& map : model.attention(inspected)) {
    const std::vector<int64_t> shape = {map.heads, map.queries, map.keys};
    py::dict row;
    row["kind"] = py::str(std::string(name_of(map.kind)));
    row["layer"] = map.layer;
    row["weights"] = array_of(std::move(map.weights), shape);
    maps.append(row);
  }
  return maps;
}

// What they write ---------------------------------------------------------------------------------------------------

/// Gives a callback the text as it comes; true from it ends the text.
class Streaming {
 public:
  Streaming(LoadedModel& model, const std::vector<int32_t>& prompt, const py::object& callback)
      : stream_(model.texts().text().stream(prompt)), callback_(callback.cast<py::function>()) {}

  /// Without the GIL.
  bool take(std::span<const int32_t> written, const GenerationConfig& config) {
    if (seen_ == written.size() || config.ends(written.back())) return true;
    seen_ = written.size();
    goes_on_ = emit(stream_(written.back()));
    return goes_on_;
  }
  /// What was kept back of a character.
  void end() {
    if (goes_on_) emit(stream_({}));
  }

 private:
  bool emit(const std::string& piece) {
    if (piece.empty()) return true;
    const WithGil gil;
    return !callback_(piece).is(py::bool_(true));
  }

  std::function<std::string(std::optional<int32_t>)> stream_;
  py::function callback_;
  size_t seen_ = 0;
  bool goes_on_ = true;
};

py::object write(LoadedModel& model, const Prompts& prompts, LoadedModel::Writing writing, const py::object& callback) {
  if (callback.is_none()) return written(model, prompts, model.write(prompts.ids, writing), writing.config);
  if (!prompts.single || prompts.of_ids || model.model().has_encoder() || writing.config.rows() > 1)
    throw py::type_error("callback wants one text of a decoder, without beams or several draws");
  Streaming streaming(model, prompts.ids.front(), callback);
  writing.goes_on = [&](std::span<const int32_t> so_far) { return streaming.take(so_far, writing.config); };
  auto results = model.write(prompts.ids, writing);
  streaming.end();
  return written(model, prompts, std::move(results), writing.config);
}

/// Where a source's own ids say what ends its answer (T5's gaps), it is written for alone.
py::object write_for_each(LoadedModel& model, const Prompts& prompts, const LoadedModel::Writing& writing) {
  std::vector<std::vector<Hypothesis>> results;
  for (const auto& ids : prompts.ids) {
    LoadedModel::Writing own = writing;
    for (const int32_t id : model.texts().text().ends_beside(ids)) own.config.eos_token_ids.push_back(id);
    results.push_back(std::move(model.write({ids}, own).front()));
  }
  return written(model, prompts, std::move(results), writing.config);
}

py::object generate(LoadedModel& model, const py::object& given, bool special_tokens, int64_t batch_size,
                    const py::object& callback, const py::kwargs& settings) {
  Prompts prompts(given);
  LoadedModel::Writing writing{.config = generation_settings(model, settings), .batch = batch_size};
  bool own_ends = false;
  for (const std::string& text : prompts.texts) {
    const PromptText& tokenizer = model.texts().text();
    prompts.ids.push_back(special_tokens ? tokenizer.encode(text) : tokenizer.encode_as_it_is(text));
    own_ends = own_ends || (model.model().has_encoder() && !tokenizer.ends_beside(prompts.ids.back()).empty());
  }
  if (own_ends && callback.is_none()) return write_for_each(model, prompts, writing);
  return write(model, prompts, std::move(writing), callback);
}

py::object chat(LoadedModel& model, const py::object& messages, const py::object& tools,
                const py::dict& template_variables, const py::object& callback, const py::kwargs& settings) {
  const FolderTexts::Chat& chat = model.texts().chat(!tools.is_none());
  Prompts prompts{py::str(chat_text(chat, messages, tools, true, template_variables))};
  LoadedModel::Writing writing{.config = generation_settings(model, settings)};
  if (chat.end && !writing.config.ends(*chat.end)) writing.config.eos_token_ids.push_back(*chat.end);
  prompts.ids = {model.texts().text().encode_as_it_is(prompts.texts.front())};
  return write(model, prompts, std::move(writing), callback);
}

py::object translate(LoadedModel& model, const py::object& given, const std::string& source_language,
                     const std::string& target_language, const std::string& prefix, int64_t batch_tokens,
                     const py::kwargs& settings) {
  check(model.model().has_encoder() && model.model().generates(),
        "translate() needs an encoder-decoder that writes, this is a {} model; use generate()", model.model().family);
  const Prompts prompts(given);
  if (prompts.of_ids) throw py::type_error("translate() takes texts; generate() takes ids");
  GenerationConfig config = generation_settings(model, settings);
  const auto text = model.texts().text_of(source_language);
  const Languages& languages = text->languages();
  std::string in_front = prefix;
  if (!target_language.empty()) {
    const TemplateToken& language = languages.find(target_language);
    write_language(config, language, languages, model.model().family);
    if (languages.place() == Languages::Place::written) in_front = language.text + ' ' + prefix;
  } else {
    check(!lacks_target_language(config, languages, model.model().family),
          "the model writes many languages; give a target_language");
  }
  // An empty text has an empty translation.
  std::vector<std::vector<int32_t>> sources;
  std::vector<size_t> places;
  for (size_t i = 0; i < prompts.texts.size(); ++i) {
    if (prompts.texts[i].find_first_not_of(" \t\r\n") == std::string::npos) continue;
    sources.push_back(text->encode(in_front + prompts.texts[i]));
    places.push_back(i);
  }
  std::vector<std::vector<Hypothesis>> results(prompts.texts.size());
  auto best = model.write_by_length(sources, config, batch_tokens);
  for (size_t i = 0; i < places.size(); ++i) results[places[i]] = std::move(best[i]);
  return written(model, prompts, std::move(results), config);
}

/// Of an audio file, or of samples at the model's rate.
py::object transcribe(LoadedModel& model, const py::object& audio, const std::string& language, const std::string& task,
                      const std::string& prompt, bool times, bool words, int64_t beams) {
  if (task != "transcribe" && task != "translate") throw py::value_error("task is transcribe or translate");
  const SpeechTask asked{
      .language = language, .translate = task == "translate", .times = times, .words = words, .before = prompt};
  const bool is_path = py::isinstance<py::str>(audio) || py::hasattr(audio, "__fspath__");
  if (is_path) return object_of(model.transcribe(audio.cast<std::filesystem::path>(), asked, beams));
  const FloatArray samples(audio, "audio");
  if (samples.shape().size() != 1) throw py::value_error("audio must be one channel: a row of samples, or a file");
  return object_of(model.transcribe(samples.values(), asked, beams));
}

// Parameters --------------------------------------------------------------------------------------------------------

py::dict parameters(const LoadedModel& model) {
  py::dict shapes;
  for (const ParameterSpec& parameter : model.model().parameters)
    shapes[py::str(parameter.name)] = py::tuple(py::cast(dimensions_of(parameter.shape)));
  return shapes;
}

std::string stored_name(const ParameterSpec& parameter) {
  check(!parameter.turned, "parameter '{}' is stored transposed, in blocks; open the model with another dtype",
        parameter.name);
  return parameter.name;
}

py::array_t<float> parameter(LoadedModel& model, const std::string& name) {
  const ParameterSpec& spec = model.parameter(name);
  std::vector<float> values;
  {
    const Running running(model.session());
    values = model.store().read(stored_name(spec));
  }
  return array_of(std::move(values), dimensions_of(spec.shape));
}

void set_parameter(LoadedModel& model, const std::string& name, const py::object& given) {
  const ParameterSpec& spec = model.parameter(name);
  const FloatArray values(given, name);
  check(values.shape() == dimensions_of(spec.shape), "'{}' has the shape {}, the array another one", name,
        spec.shape.to_string());
  const Running running(model.session());
  model.store().write(stored_name(spec), values.values());
}

void add_computing(ModelClass& model) {
  const auto computing = [&](const char* name, LoadedModel::Result result, const char* help) {
    model.def(
        name,
        [result](LoadedModel& self, const py::object& input_ids, const py::object& attention_mask,
                 const py::object& token_type_ids, const py::object& position_ids,
                 const py::object& decoder_input_ids) {
          std::map<std::string, IdMatrix> tensors;
          for (const auto& [input, given] : {std::pair{"input_ids", &input_ids},
                                             {"attention_mask", &attention_mask},
                                             {"token_type_ids", &token_type_ids},
                                             {"position_ids", &position_ids},
                                             {"decoder_input_ids", &decoder_input_ids}})
            if (!given->is_none()) tensors[input] = IntArray(*given, input).matrix();
          return array_of(self.run(IdBatch(self.model(), tensors), result));
        },
        py::arg("input_ids"), py::kw_only(), py::arg("attention_mask") = py::none(),
        py::arg("token_type_ids") = py::none(), py::arg("position_ids") = py::none(),
        py::arg("decoder_input_ids") = py::none(), help);
  };
  computing("logits", LoadedModel::Result::logits,
            R"(What the model computes for ids [B, T] (or [T], one row): logits [B, T, V], of a classifier [B, classes].

A program is recorded for each shape; the last four are kept.)");
  computing("hidden_states", LoadedModel::Result::hidden,
            R"(The states [B, T, C] after the last norm, before the head.)");
  model.def(
      "attention", attention, py::arg("text"), py::arg("target") = py::none(),
      R"(Which positions look at which: a list of {"kind": "encoder" | "decoder" | "cross", "layer": .., "weights": [H, T, S]}.

Texts, or their ids; an encoder-decoder looks at a text and at its `target` (as ids: those that its decoder reads).)");
}

void add_writing(ModelClass& model) {
  model
      .def(
          "generate", generate, py::arg("prompts"), py::kw_only(), py::arg("special_tokens") = true,
          py::arg("batch_size") = 8, py::arg("callback") = py::none(),
          R"(What the model writes behind a prompt, or for a source: a str for a str, an array of ids for ids, a list for a list.

Settings are keywords with the names of generation_config.json, which the model's own file may have set:
max_new_tokens (200), num_beams, num_return_sequences, do_sample, temperature, top_k, top_p, min_p, repetition_penalty,
eos_token_id, ..; and seed, grammar (GBNF), json_schema (a dict or its text). Giving temperature, top_k, top_p or min_p
means that tokens are drawn. `special_tokens`: with those that belong around a text. `batch_size`: prompts
side by side. `callback`: gets the text of a single prompt piece by piece; True from it ends the text.)")
      .def(
          "chat", chat, py::arg("messages"), py::kw_only(), py::arg("tools") = py::none(),
          py::arg("template_variables") = py::dict(), py::arg("callback") = py::none(),
          R"(The answer to a conversation, a list of {"role": .., "content": ..}, by the model's chat template. Settings as of generate().)")
      .def("translate", translate, py::arg("texts"), py::kw_only(), py::arg("source_language") = "",
           py::arg("target_language") = "", py::arg("prefix") = "", py::arg("batch_tokens") = 2048,
           R"(The translation of a text, or of each of a list, by an encoder-decoder; those of like length go together.

`source_language`, `target_language`: of a model of many. `prefix`: in front of each, such as T5's "translate English
to German: ". Settings as of generate().)")
      .def(
          "transcribe", transcribe, py::arg("audio"), py::kw_only(), py::arg("language") = "",
          py::arg("task") = "transcribe", py::arg("prompt") = "", py::arg("times") = true, py::arg("words") = false,
          py::arg("beams") = 5,
          R"(What is said in an audio file, or in samples (one channel, at the model's rate, 16 kHz), by a Whisper: {"text", "language", "segments": [{"begin", "end", "text"}, ..]}.

`language` that is spoken: "de"; "" for what the first window sounds like. `task`: "transcribe", or "translate" into
English. `prompt`: what was said before, with names as they are to be spelled. `times`: else each window is a segment.
`words`: segments have "words", a list of {"word", "start", "end", "probability"}.)");
}

}  // namespace

void add_model(py::module_& module) {
  ModelClass model(module, "Model", R"(A model with its weights on a device.

Calls release the GIL while they compute. One at a time has a device: models of threads that shall overlap are opened
once for each.)");
  model
      .def(py::init([](const std::filesystem::path& path, const DeviceName& device, const std::string& dtype,
                       const std::filesystem::path& adapter, bool profile) {
             const WithoutGil without;
             return LoadedModel::load(path, text_of(device), dtype, adapter, profile);
           }),
           py::arg("path"), py::kw_only(), py::arg("device") = "", py::arg("dtype") = "", py::arg("adapter") = "",
           py::arg("profile") = false,
           R"(Opens a Hugging Face folder, a run folder (its latest checkpoint), or a .gguf file.

`device`: a number, a part of a name, "reference" for double precision on the CPU; "" for the best. `dtype` of weights on
the device: "f32", "f16", "bf16", "q8_0", "q4_k", ..; "" for f32, of a .gguf or a quantised folder what it has. `adapter`: PEFT's folder. `profile`: with timestamps, for timings().)")
      .def_property_readonly("family", [](const LoadedModel& self) { return self.model().family; })
      .def_property_readonly(
          "context", [](const LoadedModel& self) { return self.model().context; }, R"(Most positions; 0: no limit.)")
      .def_property_readonly("vocabulary_size", [](const LoadedModel& self) { return self.model().vocabulary; })
      .def_property_readonly("device", [](const LoadedModel& self) { return self.session().backend->describe(); })
      .def_property_readonly(
          "path",
          [](const LoadedModel& self) {
            const auto& folder = self.texts().folder();
            return folder.empty() ? std::nullopt : std::optional(folder);
          },
          R"(Its folder or file; None of a trainer's that has none.)")
      .def("__repr__",
           [](const LoadedModel& self) {
             const Model& its = self.model();
             return fmt::format("<vkformer.Model: {}, {} parameters, {}>", its.family, its.parameter_count(),
                                its.context > 0 ? fmt::format("context {}", its.context) : "no limit of positions");
           })
      .def_property_readonly("config", [](const LoadedModel& self) { return object_of(*self.model().config); })
      .def_property_readonly("parameters", parameters, R"(The shape of each parameter, by its name in files.)")
      .def("parameter", parameter, py::arg("name"), R"(The values of a parameter, float32.)")
      .def("set_parameter", set_parameter, py::arg("name"), py::arg("values"),
           R"(Gives a parameter other values, rounded to the type it is stored in.)");
  model.def(
      "timings",
      [](LoadedModel& self) {
        check(self.session().profile, "this model is not profiled; open it with profile=True");
        return timing_rows(self.timings());
      },
      R"(What each node took of the last run of the last logits(), hidden_states(), log_probabilities(), generate(), chat() or translate(), of a model that was opened with profile=True.

A list of {"program", "scope", "op", "kernel", "seconds", "flops", "bytes"}: what it must compute and move at least.)");
  add_computing(model);
  add_writing(model);
  add_telling(model);
}

}  // namespace vkformer::python
