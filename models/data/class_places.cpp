#include "models/data/class_places.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

ClassPlaces::ClassPlaces(const std::vector<std::string>& names) : names_(names) {
  for (const std::string& name : names) places_.emplace(name, static_cast<int32_t>(places_.size()));
}

int32_t ClassPlaces::of(std::string_view name, std::string_view what, std::string_view place) const {
  const auto found = places_.find(name);
  if (found != places_.end()) return found->second;
  const auto shown = std::span(names_).first(std::min<size_t>(names_.size(), 10));
  fail("{}: no training {} {}; they have {}{}", place, what, in_quotes(name),
       printable(fmt::format("{}", fmt::join(shown, ", "))), shown.size() < names_.size() ? ", ..." : "");
}

}  // namespace vkformer
