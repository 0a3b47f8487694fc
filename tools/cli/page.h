#pragma once
// Pages for people: one HTML file each that needs no other file and no network. What they show is JSON inside them.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace vkformer {

/// tools/cli/pages/NAME.html, or kit/NAME.*, as it was built in; empty when there is none.
std::string_view embedded_page(std::string_view name);

/// That page with its data. Strings of `data` that are not UTF-8 get U+FFFD.
std::string page_with(std::string_view name, const nlohmann::json& data);

}  // namespace vkformer
