#pragma once
// A conversation as a model's own template writes it.

#include <pybind11/pybind11.h>

#include <filesystem>

namespace vkformer::python {

/// `messages` and `tools` as transformers' apply_chat_template() takes them. Throws Error for a folder without a
/// template and like ChatTemplate::render().
std::string chat_text(const std::filesystem::path& folder, const pybind11::object& messages,
                      const pybind11::object& tools, bool add_generation_prompt, const pybind11::dict& variables);

}  // namespace vkformer::python
