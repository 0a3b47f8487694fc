#pragma once
// Files of JSON lines.

#include "runtime/files/json_file.h"

namespace vkformer {

/// The object of a line. Throws Error, with `name` and `number` (from 1), for what is none.
JsonObject parse_json_line(std::string_view line, std::string_view name, size_t number);

}  // namespace vkformer
