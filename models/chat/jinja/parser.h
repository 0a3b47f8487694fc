#pragma once
// A template's source as a tree.

#include "models/chat/jinja/syntax.h"

namespace vkformer::jinja {

/// `name`: what errors call the template. Throws Error, with the line, for what is no template and for tags that are
/// not supported.
Body parse(std::string_view source, const std::string& name);

}  // namespace vkformer::jinja
