#pragma once
// Recorded results of single operators; internal to models/verify*.cpp.

#include "models/verify/verify.h"

namespace vkformer {

/// Verifies every case of FOLDER/ops.json with the tensors of FOLDER/ops.safetensors (format:
/// tests/fixtures/README.md); calls `report` for every output, named "case/tensor". A case that can't be run gives one
/// failed row with the reason. Throws Error when the files can't be read.
void verify_ops(Backend& backend, const std::filesystem::path& folder,
                const std::function<void(const VerifyRow&)>& report);

}  // namespace vkformer
