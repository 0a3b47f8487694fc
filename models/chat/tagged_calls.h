#pragma once
// Calls of tools whose names, keys and values stand between tags.

#include "models/chat/tool_calls.h"

namespace vkformer {

/// What stands behind the beginning of a call.
struct CallBody {
  size_t length = 0;            ///< of the calls' text
  std::vector<ToolCall> calls;  ///< none: it is no call, or not yet
  bool may_come = false;        ///< it begins like one
};

/// The form of a turn that calls `name` with two arguments, a number and a text; nothing where it is not of tags.
std::optional<ToolCallForm> tagged_call_form(std::string_view turn, std::string_view name,
                                             const nlohmann::ordered_json& arguments);

/// The part of a text up to its first white space: by which calls in tags are told.
std::string_view first_word(std::string_view text);
/// The last tag of the form's beginning, where it has several: some models leave out those before it. "": one.
std::string_view inner_mark(const ToolCallForm& form);

/// `text`: what follows the first word of the form's beginning or, where not `opened`, its last tag; up to the call's
/// end. Without the first only calls of known tools count. `ended`: no more comes.
CallBody tagged_body(const ToolCallForm& form, const nlohmann::ordered_json& tools, std::string_view text, bool opened,
                     bool ended);

}  // namespace vkformer
