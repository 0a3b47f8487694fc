#pragma once
// A conversation as a model's own template writes it.

#include "python/bindings/folder_texts.h"
#include "python/bindings/session.h"

namespace vkformer::python {

/// `messages` and `tools` as transformers' apply_chat_template() takes them. Throws Error like ChatTemplate::render().
std::string chat_text(const FolderTexts::Chat& chat, const py::object& messages, const py::object& tools,
                      bool add_generation_prompt, const py::dict& variables);

}  // namespace vkformer::python
