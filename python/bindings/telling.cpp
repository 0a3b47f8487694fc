#include "python/bindings/telling.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "python/bindings/written.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer::python {

namespace {

constexpr const char* each_text = "each of the texts";

/// A list of str. Throws TypeError for a str, which is a sequence of them, too.
std::vector<std::string> texts_of(const py::object& given) {
  if (py::isinstance<py::str>(given)) throw py::type_error("texts must be a list of str");
  std::vector<std::string> texts;
  for (const py::handle text : given) texts.push_back(text_of(text, each_text));
  return texts;
}

/// Results for a list; for a single thing its result.
py::object results_of(const nlohmann::json& results, bool single) {
  return object_of(single ? results.front() : results);
}

py::array_t<float> embed(LoadedModel& model, const py::object& given, bool query, int64_t batch_tokens) {
  return array_of(model.embed(texts_of(given), query, batch_tokens));
}

py::array_t<float> classify_among(LoadedModel& model, const py::object& given, LoadedModel::Candidates candidates,
                                  int64_t batch_tokens) {
  check(!candidates.names.empty(), "candidates has none");
  for (const std::string& name : candidates.names)
    check(std::ranges::count(candidates.names, name) == 1, "candidates has {} twice", in_quotes(name));
  return array_of(model.classify_among(texts_of(given), candidates, batch_tokens));
}

/// Texts and pairs of texts.
py::array_t<float> classify(LoadedModel& model, const py::object& given, const py::object& candidates,
                            const std::string& hypothesis, bool several, int64_t batch_tokens) {
  if (!candidates.is_none())
    return classify_among(model, given, {texts_of(candidates), hypothesis, several}, batch_tokens);
  constexpr const char* wanted = "each of the texts, or both of a pair,";
  if (py::isinstance<py::str>(given)) throw py::type_error("texts must be a list of str, or of pairs of them");
  std::vector<LoadedModel::TextOrPair> texts;
  for (const py::handle text : given) {
    if (py::isinstance<py::tuple>(text) && py::len(text) == 2)
      texts.emplace_back(text_of(text[py::int_(0)], wanted), text_of(text[py::int_(1)], wanted));
    else
      texts.emplace_back(text_of(text, wanted), std::nullopt);
  }
  return array_of(model.classify(texts, batch_tokens));
}

py::object fill(LoadedModel& model, const py::object& given, size_t top, int64_t batch_tokens) {
  const bool single = py::isinstance<py::str>(given);
  const auto texts = single ? std::vector{text_of(given, "texts")} : texts_of(given);
  return results_of(model.fill(texts, top, batch_tokens), single);
}

/// The words of a str lie between blanks; other sequences are of words.
std::vector<std::string> words_of(const py::handle& text) {
  if (py::isinstance<py::str>(text)) return words_of_line(text_of(text, each_text));
  std::vector<std::string> words;
  for (const py::handle word : text) words.push_back(text_of(word, "each word of a text"));
  return words;
}

py::object tag(LoadedModel& model, const py::object& given, int64_t batch_tokens) {
  const bool single = py::isinstance<py::str>(given);
  std::vector<std::vector<std::string>> texts;
  if (single)
    texts.push_back(words_of(given));
  else
    for (const py::handle text : given) texts.push_back(words_of(text));
  return results_of(model.tag(texts, batch_tokens), single);
}

py::object answer(LoadedModel& model, const py::object& questions, const py::object& contexts, int64_t stride,
                  int64_t batch_tokens) {
  const bool single = py::isinstance<py::str>(questions), shared = py::isinstance<py::str>(contexts);
  const auto asked = single ? std::vector{text_of(questions, "questions")} : texts_of(questions);
  auto known = shared ? std::vector(asked.size(), text_of(contexts, "contexts")) : texts_of(contexts);
  check(known.size() == asked.size(), "there are {} contexts for {} questions; give one for each, or a str for all",
        known.size(), asked.size());
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < asked.size(); ++i) pairs.emplace_back(asked[i], std::move(known[i]));
  return results_of(model.answer(pairs, stride, batch_tokens), single);
}

py::object log_probabilities(LoadedModel& model, const py::object& given) {
  Prompts prompts(given);
  for (const std::string& text : prompts.texts) prompts.ids.push_back(model.texts().text().encode(text));
  py::list arrays;
  for (auto& row : model.log_probabilities(prompts.ids)) {
    const std::vector<int64_t> shape{std::ssize(row)};
    arrays.append(array_of(std::move(row), shape));
  }
  return prompts.single ? py::object(arrays[0]) : py::object(arrays);
}

}  // namespace

void add_telling(ModelClass& model) {
  model
      .def(
          "embed", embed, py::arg("texts"), py::kw_only(), py::arg("query") = false, py::arg("batch_tokens") = 4096,
          R"(A vector of length 1 for each text, [texts, width], as sentence-transformers makes it by the model's files.

`query`: texts are questions, in front of which some models want words.)")
      .def("classify", classify, py::arg("texts"), py::kw_only(), py::arg("candidates") = py::none(),
           py::arg("hypothesis") = "This example is {}.", py::arg("multi_label") = false,
           py::arg("batch_tokens") = 4096,
           R"(The probability of each of the `labels` for each text, or pair of texts: [texts, labels].

With `candidates`, of each of these, which the model was never trained on: by one that tells whether a text entails the
`hypothesis` with a candidate for {}. `multi_label`: several may hold for a text.)")
      .def(
          "fill", fill, py::arg("texts"), py::kw_only(), py::arg("top") = 5, py::arg("batch_tokens") = 4096,
          R"(The words for the masks of a text: {"text", "filled", "masks": a list for each of its `top` likeliest {"token", "id", "probability", "filled"}}; of a list of texts a list.)")
      .def(
          "tag", tag, py::arg("texts"), py::kw_only(), py::arg("batch_tokens") = 4096,
          R"(A tag for each word of a text, {"words", "tags", "probabilities"}; of a list of texts, or of lists of words, a list. Words of a str lie between blanks.)")
      .def(
          "answer", answer, py::arg("questions"), py::arg("contexts"), py::kw_only(), py::arg("stride") = -1,
          py::arg("batch_tokens") = 4096,
          R"(The answer to a question in its context, {"question", "answer", "probability", "start", "end"}, "" where the context does not tell; of a list of questions a list.

`contexts`: a str for all questions, or a list of one for each. `stride`: tokens that the windows of a long context share
(128, or a third of the model's positions).)")
      .def(
          "log_probabilities", log_probabilities, py::arg("texts"),
          R"(The natural logarithm of the probability of each token but the first, given those before it: an array for a text or ids, a list for a list.

Of decoders. A text is encoded with its special tokens. One that is longer than the context is scored in windows that share half of it.)")
      .def_property_readonly("labels", &LoadedModel::labels,
                             R"(Names of the classes of a classifier or a tagger; none of another model.)");
}

}  // namespace vkformer::python
