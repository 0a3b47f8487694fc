#pragma once
// Where JSON ends that a model's answer or a template's text goes on behind.

#include <string_view>

namespace vkformer {

/// Bytes of the object or list that a text begins with; 0: it does not end.
size_t json_length(std::string_view text);

}  // namespace vkformer
