#include "models/data/json_lines.h"

#include "runtime/check.h"

namespace vkformer {

JsonObject parse_json_line(std::string_view line, std::string_view name, size_t number) {
  const size_t first = line.find_first_not_of(" \t");
  // As exported by other tools: one list over many lines.
  check(number > 1 || first == line.npos || line[first] != '[',
        "{}:1: a list begins here, where JSON lines have an object each; make them of it, as by: jq -c '.[]' FILE",
        name);
  return JsonObject::parse(line, fmt::format("{}:{}", name, number));
}

}  // namespace vkformer
