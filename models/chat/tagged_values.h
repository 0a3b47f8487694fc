#pragma once
// Arguments of tools that a model writes as text between tags, as the values that the tool's schema asks for.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace vkformer {

/// The value of argument `key` of the tool `name` among `tools`, OpenAI's list: text where its schema takes strings or
/// says nothing of types, or there is none; else JSON, or a literal of Python's, as templates show them to models
/// (True, None, {'a': 1}); and text where it is neither.
nlohmann::ordered_json tagged_value(const nlohmann::ordered_json& tools, std::string_view name, std::string_view key,
                                    std::string_view text);

/// Whether there is such a tool.
bool has_tool(const nlohmann::ordered_json& tools, std::string_view name);

}  // namespace vkformer
