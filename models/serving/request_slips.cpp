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

RequestBody::RequestBody(std::string_view body)
    : asked(std::make_shared<FieldNames>()), json(JsonObject::parse(body, "the request")) {
  json.keep_asked(asked);
}

void RequestBody::refuse_slips() const {
  FieldNames fields;
  for (const auto& [name, value] : json.value().items()) fields.insert(name);
  vkformer::refuse_slips(fields, *asked);
}

}  // namespace vkformer
