#pragma once
// Whether a model has room on a device where it writes text, and with which weights it would have.

#include <filesystem>
#include <optional>

#include "models/generation/generation.h"
#include "runtime/backend.h"

namespace vkformer {

/// Bytes of the device's memory for the parameters, constants and caches of a Generator; its temporaries come on top.
int64_t generator_bytes(const Model& model, const GeneratorShape& shape, const DeviceFacts& facts);

struct FittingType {
  std::string dtype;  ///< as --dtype takes it
  int64_t bytes = 0;  ///< generator_bytes() with it
};
/// Of the types that weights are usually stored in, the largest with which a model of f32 fits; nothing where none
/// does. `beside`: bytes that something else takes.
std::optional<FittingType> fitting_type(const Model& model, const GeneratorShape& shape, const DeviceFacts& facts,
                                        int64_t beside = 0);

/// Lets weights lie in host memory (see make_room()) where the device has less memory free than `model` asks for, and
/// `beside`, bytes of another that drafts for it. Throws Error where that does not help; says which --dtype would do.
/// `files`: where the model lies.
void check_fits(Model& model, const std::filesystem::path& files, const GeneratorShape& shape, const Backend& backend,
                int64_t beside = 0);

}  // namespace vkformer
