#pragma once
// What is said of command lines that can't be parsed.

#include <string>

#include "tools/cli/verbs.h"

namespace vkformer {

/// "see 'vkformer train --help'"
std::string see_help(const CLI::App& verb);
std::string about_unknown_verb(const CLI::App& app, const std::string& given);
/// The command-line library takes the next option for a value that was left out. Empty: none was.
std::string about_missing_value(const CLI::App& verb);
std::string what_is_wrong(const CLI::App& verb, const CLI::ParseError& error);

}  // namespace vkformer
