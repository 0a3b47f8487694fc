#pragma once
// Calls of tools in a list as Python writes them (LFM2):
//
//   <|tool_call_start|>[weather(city="Bern", days=3), clock()]<|tool_call_end|>

#include "models/chat/tagged_calls.h"

namespace vkformer {

/// The form of a turn that calls `name` with these arguments; nothing where it is another.
std::optional<ToolCallForm> python_call_form(std::string_view turn, std::string_view name,
                                             const nlohmann::ordered_json& arguments);

/// `text`: what follows the form's beginning. Every argument has its name; values are Python's literals, or JSON.
CallBody python_body(std::string_view text);

}  // namespace vkformer
