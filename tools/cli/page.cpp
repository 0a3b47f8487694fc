#include "tools/cli/page.h"

#include <nlohmann/json.hpp>

#include "runtime/check.h"

namespace vkformer {

std::string page_with(std::string_view name, const nlohmann::json& data) {
  constexpr std::string_view place = "@data@";
  const std::string_view page = embedded_page(name);
  const size_t at = page.find(place);
  check(at != std::string_view::npos, "this build has no page '{}'", name);
  std::string result(page.substr(0, at));
  // No string of the data may end the script element that holds it.
  for (const char c : data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) {
    if (c == '<')
      result += "\\u003c";
    else
      result += c;
  }
  result += page.substr(at + place.size());
  return result;
}

}  // namespace vkformer
