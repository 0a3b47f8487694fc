#pragma once
// Names in requests that are slips of the pen.

#include <memory>
#include <set>
#include <string_view>

#include "runtime/files/json_file.h"

namespace vkformer {

using FieldNames = std::set<std::string, std::less<>>;

/// Of the fields that a request has, `known` say something. Others are let pass, as clients send many; throws Error for
/// one that is at most two letters away from one that could be meant.
void refuse_slips(const FieldNames& fields, const FieldNames& known);

/// The object that a request's body is, which knows the keys that its reader asked it for.
struct RequestBody {
  /// Throws Error for what is no JSON object.
  explicit RequestBody(std::string_view body);
  /// Once all was asked for.
  void refuse_slips() const;

  std::shared_ptr<FieldNames> asked;
  JsonObject json;
};

}  // namespace vkformer
