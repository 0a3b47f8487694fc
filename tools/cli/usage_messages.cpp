#include "tools/cli/usage_messages.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "runtime/files/utf8.h"
#include "tools/cli/suggestions.h"

namespace vkformer {

namespace {

/// "vkformer data numbers"
std::string command_of(const CLI::App& verb) {
  return verb.get_parent() == nullptr ? verb.get_name() : command_of(*verb.get_parent()) + " " + verb.get_name();
}

/// "; did you mean 'train'?"
std::string did_you_mean(const std::string& name) {
  return name.empty() ? ";" : fmt::format("; did you mean {}?", name);
}

/// For an option that the verb does not have, and for a word too much.
std::string about_unknown(const CLI::App& verb, const std::string& given) {
  if (!given.starts_with('-')) {
    std::error_code none;
    const char* way = !std::filesystem::is_regular_file(given, none)     ? "quotes hold a text together"
                      : verb.get_option_no_throw("--file") != nullptr    ? "a file goes with -f"
                      : verb.get_option_no_throw("--compare") != nullptr ? "two files go with --compare"
                                                                         : "a file of texts goes with <";
    return fmt::format("{} is one word too much ({}); {}", in_quotes(given, 60), way, see_help(verb));
  }
  const std::string name = given.substr(0, given.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  std::string meant = name_of_foreign_option(name);
  if ((name == "-m" || name == "--model") && verb.get_option_no_throw("model") != nullptr)
    return fmt::format("{0} has no option {1}; the model is a word of its own, as in '{2} MODEL'; {3}", verb.get_name(),
                       name, command_of(verb), see_help(verb));
  if (std::ranges::find(names, meant) == names.end()) {
    std::string dashes = name;
    std::ranges::replace(dashes, '_', '-');
    meant = nearest_name(dashes, names);
  }
  return fmt::format("{} has no option {}{} {}", verb.get_name(), printable(name, 60), did_you_mean(meant),
                     see_help(verb));
}

/// With other names that they have. Empty: it has no verbs of its own.
std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
    names.push_back(verb->get_name());
    for (const std::string& alias : verb->get_aliases()) names.push_back(alias);
  }
  return names;
}

/// "numbers, tones and shapes", with `last` before the last one of several.
std::string enumerated(const std::vector<std::string>& names, const char* last) {
  if (names.size() < 2) return fmt::format("{}", fmt::join(names, ""));
  return fmt::format("{}{}{}", fmt::join(names.begin(), names.end() - 1, ", "), last, names.back());
}

}  // namespace

std::string see_help(const CLI::App& verb) { return fmt::format("see '{} --help'", command_of(verb)); }

std::string about_unknown_verb(const CLI::App& app, const std::string& given) {
  const std::vector<std::string> names = names_of_verbs(app);
  if (app.get_parent() != nullptr)
    return fmt::format("{} has no verb {}; it has {}; {}", app.get_name(), in_quotes(given, 60),
                       enumerated(names, " and "), see_help(app));
  std::string meant = name_of_foreign_verb(given);
  if (meant.empty()) meant = nearest_name(given, names);
  return fmt::format("there is no verb {}{} {}", in_quotes(given, 60), did_you_mean(meant), see_help(app));
}

std::string about_missing_value(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    for (const std::string& value : option->results())
      if (value.starts_with("--") && verb.get_option_no_throw(value) != nullptr)
        return fmt::format("{} has no value, {} follows", option->get_name(), value);
  return "";
}

std::string what_is_wrong(const CLI::App& verb, const CLI::ParseError& error) {
  if (verb.get_parent() == nullptr) {
    const std::vector<std::string> before = verb.remaining();
    const bool option = !before.empty() && before.front().starts_with('-');
    return fmt::format(
        "{}{}", option ? in_quotes(before.front(), 60) + " belongs behind a verb, and there is none; " : "which verb? ",
        see_help(verb));
  }
  if (const std::string missing = about_missing_value(verb); !missing.empty())
    return fmt::format("{}; {}", missing, see_help(verb));
  const std::vector<std::string> unknown = verb.remaining(), below = names_of_verbs(verb);
  if (!below.empty() && !unknown.empty() && !unknown.front().starts_with('-'))
    return about_unknown_verb(verb, unknown.front());
  if (!below.empty() && unknown.empty())
    return fmt::format("which verb of {}? {}; {}", verb.get_name(), enumerated(below, " or "), see_help(verb));
  const auto option = std::ranges::find_if(unknown, [](const std::string& word) { return word.starts_with("-"); });
  if (option != unknown.end()) return about_unknown(verb, *option);
  if (!unknown.empty()) return about_unknown(verb, unknown.front());
  const std::string what = error.what();
  if (const size_t end = what.find(": At Most 1 required but received"); end != std::string::npos)
    return fmt::format("{} is there more than once; {}", printable(what.substr(0, end), 60), see_help(verb));
  if (const size_t end = what.find(": At Most 2 required but received"); end != std::string::npos)
    return fmt::format("{} takes two files at most, and what follows them is taken for one; put that first; {}",
                       printable(what.substr(0, end), 60), see_help(verb));
  return fmt::format("{}; {}", printable(what, 300), see_help(verb));
}

}  // namespace vkformer
