#pragma once
// What follows from the figures of a profile.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace vkformer {

/// Lines for people about one program of a profile_record(); each has the figures it follows from. None where nothing
/// stands out.
std::vector<std::string> profile_advice(const nlohmann::json& record, const nlohmann::json& program);

}  // namespace vkformer
