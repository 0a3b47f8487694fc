#pragma once
// What --help prints: verbs by job, options by purpose, each with its value, its default and what may be given.

#include <CLI/CLI.hpp>

namespace vkformer {

/// A description up to its line break is for the list of verbs; a verb's own help goes on behind it in the same line.
class HelpText : public CLI::FormatterBase {
 public:
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
};

/// Puts options of a verb below a heading.
void put_below(CLI::App& command, const char* heading, std::initializer_list<const char*> options);
/// The same for those that mean one thing in every verb: the device, what is printed. Called when all options are
/// there.
void put_common_below(CLI::App& command);

}  // namespace vkformer
