#include "runtime/files/json_reader.h"

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

bool JsonReader::key(string_t& key) {
  const auto [member, is_new] = open_.back()->get_ref<nlohmann::json::object_t&>().emplace(key, nullptr);
  check(is_new, "{}: {} appears twice in one object; remove one of them", printable(name_), in_quotes(key));
  member_ = &member->second;
  return true;
}

nlohmann::json& JsonReader::place(nlohmann::json value) {
  if (open_.empty()) return root_ = std::move(value);
  if (open_.back()->is_object()) return *member_ = std::move(value);
  return open_.back()->emplace_back(std::move(value));
}

bool JsonReader::open(nlohmann::json container) {
  check(std::ssize(open_) < json_depth_limit, "{}: lists and objects are nested more than {} deep; the file is damaged",
        printable(name_), json_depth_limit);
  // Containers stay where they are while they are open: only the innermost one grows.
  open_.push_back(&place(std::move(container)));
  return true;
}

bool JsonReader::parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
  if (const auto* syntax = dynamic_cast<const nlohmann::json::parse_error*>(&error)) throw *syntax;
  if (const auto* range = dynamic_cast<const nlohmann::json::out_of_range*>(&error)) throw *range;
  throw Error(std::string(name_) + ": " + error.what());
}

}  // namespace vkformer
