#include "python/bindings/chat_text.h"

#include <nlohmann/json.hpp>

#include "models/chat/chat_files.h"
#include "python/bindings/arrays.h"
#include "runtime/check.h"

namespace vkformer::python {

std::string chat_text(const std::filesystem::path& folder, const py::object& messages, const py::object& tools,
                      bool add_generation_prompt, const py::dict& variables) {
  check(!folder.empty(), "this model has no folder, and so no chat template; write the conversation yourself");
  const auto chat = find_chat_template(folder, tools.is_none() ? "default" : "tool_use");
  check(chat.has_value(), "'{}' has no chat template; write the conversation yourself", folder.string());
  Conversation conversation{.messages = ordered_json_of(messages),
                            .add_generation_prompt = add_generation_prompt,
                            .variables = special_token_variables(folder)};
  if (!tools.is_none()) conversation.tools = ordered_json_of(tools);
  conversation.variables.update(ordered_json_of(variables));
  return chat->render(conversation).text;
}

}  // namespace vkformer::python
