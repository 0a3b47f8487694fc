#pragma once
// How classes of texts and of pictures are printed.

#include <string>
#include <vector>

#include "tools/cli/commands.h"

namespace vkformer {

/// The likeliest class and its probability, of `several` candidates all of them; with --json an object, in which `of`
/// stands under the key `kind` ("text", "file").
void print_classes(const ClassifyFlags& flags, const char* kind, const std::string& of,
                   const std::vector<double>& probabilities, const std::vector<std::string>& names);

/// `classify` of files of pictures.
void classify_pictures(const ClassifyFlags& flags, const std::filesystem::path& folder);

}  // namespace vkformer
