#pragma once
// What names of other tools are called here.

#include <string>
#include <string_view>

#include "models/nearest_name.h"

namespace vkformer {

/// What verbs of other tools are called here: "quantize" is "convert". Empty: not known.
std::string name_of_foreign_verb(std::string_view verb);

/// What options of llama.cpp, Marian, nanoGPT and transformers are called here: "--n-predict" is "--tokens". Empty: not
/// known.
std::string name_of_foreign_option(std::string_view option);

}  // namespace vkformer
