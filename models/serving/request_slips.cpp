#include "models/serving/request_slips.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "models/nearest_name.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

void refuse_slips(const FieldNames& fields, const FieldNames& known) {
  std::vector<std::string> missing;
  std::ranges::set_difference(known, fields, std::back_inserter(missing));
  for (const std::string& name : fields) {
    if (known.contains(name)) continue;
    const std::string meant = nearest_name(name, missing);
    check(meant.empty() || edit_distance(name, meant) > 2, "{} says nothing here; did you mean \"{}\"?",
          in_quotes(name, 60), meant);
  }
}

void refuse_slips(const JsonObject& request, const FieldNames& asked) {
  FieldNames fields;
  for (const auto& [name, value] : request.value().items()) fields.insert(name);
  refuse_slips(fields, asked);
}

}  // namespace vkformer
