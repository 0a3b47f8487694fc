#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <nlohmann/json.hpp>

#include "models/model_folder.h"
#include "python/bindings/arrays.h"
#include "python/bindings/chat_text.h"
#include "python/bindings/module.h"

namespace vkformer::python {

namespace {

/// A folder's tokenizer, and its chat template.
struct FolderTokenizer {
  FolderTexts texts;
  std::shared_ptr<const PromptText> of_language;
  const PromptText& text;

  FolderTokenizer(const std::filesystem::path& folder, const std::string& language)
      : texts(folder, nlohmann::json::object()), of_language(texts.text_of(language)), text(*of_language) {}
};

/// Throws Error where there is no tokenizer.
std::shared_ptr<FolderTokenizer> load(const std::filesystem::path& path, const std::string& language) {
  const WithoutGil without;
  return std::make_shared<FolderTokenizer>(resolve_tokenizer_folder(path), language);
}

}  // namespace

void add_tokenizer(py::module_& module) {
  py::class_<FolderTokenizer, std::shared_ptr<FolderTokenizer>>(
      module, "Tokenizer", R"(Text to token ids and back, as a model's folder says it.)")
      .def(
          py::init(&load), py::arg("path"), py::kw_only(), py::arg("language") = "",
          R"(Of a folder with a tokenizer, a model folder, a run folder or a .gguf file. `language`: of the texts, for a tokenizer of many.)")
      .def(
          "encode",
          [](const FolderTokenizer& tokenizer, const std::string& text, bool special_tokens) {
            return array_of(tokenizer.text.encode_line(text, special_tokens).ids);
          },
          py::arg("text"), py::kw_only(), py::arg("special_tokens") = true,
          R"(The ids of a text, int32, with the special tokens that belong around it unless `special_tokens` is False.)")
      .def(
          "decode",
          [](const FolderTokenizer& tokenizer, const py::object& ids, bool special_tokens) {
            const std::vector<int32_t> row = IntArray(ids, "ids").row();
            return special_tokens ? tokenizer.text.decode_all(row) : tokenizer.text.decode(row);
          },
          py::arg("ids"), py::kw_only(), py::arg("special_tokens") = false,
          R"(The text of ids, without special tokens unless `special_tokens` is True.)")
      .def(
          "tokens",
          [](const FolderTokenizer& tokenizer, const py::object& ids) {
            std::vector<std::string> pieces;
            for (const int32_t id : IntArray(ids, "ids").row()) pieces.push_back(tokenizer.text.piece(id));
            return pieces;
          },
          py::arg("ids"), R"(Each id's token for people to see.)")
      .def(
          "id_of",
          [](const FolderTokenizer& tokenizer, const std::string& token) { return tokenizer.text.id_of(token); },
          py::arg("token"), R"(The id of a token, None where there is none.)")
      .def(
          "apply_chat_template",
          [](const FolderTokenizer& tokenizer, const py::object& messages, const py::object& tools,
             bool add_generation_prompt, const py::kwargs& variables) {
            return chat_text(tokenizer.texts.chat(!tools.is_none()), messages, tools, add_generation_prompt, variables);
          },
          py::arg("messages"), py::kw_only(), py::arg("tools") = py::none(), py::arg("add_generation_prompt") = true,
          R"(A conversation, a list of {"role": .., "content": ..}, as the model's chat template writes it. Other keywords are
variables of the template.)")
      .def_property_readonly("vocabulary_size", [](const FolderTokenizer& tokenizer) { return tokenizer.text.size(); });
}

}  // namespace vkformer::python
