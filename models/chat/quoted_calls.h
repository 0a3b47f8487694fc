#pragma once
// Calls of tools whose arguments are like JSON, but with marks of their own around texts and none around keys (Gemma
// 4):
//
//   <|tool_call>call:weather{city:<|"|>Bern<|"|>,days:[1,2],now:true}<tool_call|>

#include "models/chat/tagged_calls.h"

namespace vkformer {

/// The form of a turn that calls `name` with two arguments, a number and a text; nothing where it is another.
std::optional<ToolCallForm> quoted_call_form(std::string_view turn, std::string_view name,
                                             const nlohmann::ordered_json& arguments);

/// `text`: what follows the form's beginning.
CallBody quoted_body(const ToolCallForm& form, std::string_view text);

}  // namespace vkformer
