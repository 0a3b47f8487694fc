#include "runtime/files/weight_index.h"

#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// A file beside the index, never one elsewhere.
bool is_plain_name(const std::string& file) {
  return !file.empty() && file != "." && file.find("..") == file.npos && file.find('/') == file.npos &&
         file.find('\\') == file.npos && file.find('\0') == file.npos && !std::filesystem::path(file).has_root_path();
}

}  // namespace

WeightIndex::WeightIndex(const std::filesystem::path& path) : name_(printable(path.generic_string())) {
  const JsonObject weight_map = require_object(JsonObject::load(path), "weight_map");
  for (const auto& [tensor, shard] : weight_map.value().items()) {
    check(shard.is_string() && is_plain_name(shard.get_ref<const std::string&>()),
          "{}: the file of tensor {} must be a name in this folder, not {}; the index is damaged", name_,
          in_quotes(tensor, 120), printable(shard.dump(-1, ' ', true)));
    tensors_[tensor] = shard.get<std::string>();
    files_[tensors_[tensor]] = path.parent_path() / tensors_[tensor];
  }
  check(!files_.empty(), "{}: weight_map names no file; the index is damaged", name_);
  for (const auto& [file, there] : files_)
    check(std::filesystem::exists(there), "{} names {}, which is missing; download it", name_, in_quotes(file, 120));
}

void WeightIndex::fail_without(const std::string& tensor) const {
  fail("{} says that tensor {} is in {}, but it is not; download both again", name_, in_quotes(tensor, 120),
       in_quotes(tensors_.at(tensor), 120));
}

}  // namespace vkformer
