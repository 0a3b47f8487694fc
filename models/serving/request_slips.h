#pragma once
// Names in requests that are slips of the pen.

#include <set>

#include "runtime/files/json_file.h"

namespace vkformer {

using FieldNames = std::set<std::string, std::less<>>;

/// Of the fields that a request has, `known` say something. Others are let pass, as clients send many; throws Error for
/// one that is at most two letters away from one that could be meant.
void refuse_slips(const FieldNames& fields, const FieldNames& known);
/// The same of an object and the keys that its reader asked it for.
void refuse_slips(const JsonObject& request, const FieldNames& asked);

}  // namespace vkformer
