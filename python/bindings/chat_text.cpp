#include "python/bindings/chat_text.h"

#include <nlohmann/json.hpp>

#include "python/bindings/arrays.h"

namespace vkformer::python {

std::string chat_text(const FolderTexts::Chat& chat, const py::object& messages, const py::object& tools,
                      bool add_generation_prompt, const py::dict& variables) {
  if (!(py::isinstance<py::list>(messages) || py::isinstance<py::tuple>(messages)) || py::len(messages) == 0)
    throw py::type_error("messages must be a list of dicts with \"role\" and \"content\"");
  for (const py::handle message : messages)
    if (!py::isinstance<py::dict>(message)) throw py::type_error("each of the messages must be a dict");
  Conversation conversation{.messages = ordered_json_of(messages),
                            .add_generation_prompt = add_generation_prompt,
                            .variables = chat.variables};
  if (!tools.is_none()) conversation.tools = ordered_json_of(tools);
  conversation.variables.update(ordered_json_of(variables));
  return chat.chat.render(conversation).text;
}

}  // namespace vkformer::python
