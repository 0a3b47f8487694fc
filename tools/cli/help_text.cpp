#include "tools/cli/help_text.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace vkformer {

namespace {

constexpr size_t line_width = 110;
constexpr size_t name_column = 2, text_column = 30;
constexpr const char* device_heading = "Device and measuring";
constexpr const char* output_heading = "What is printed";

/// In lines of `line_width`, each from `indent` on but the first, which goes on behind `line`.
std::string wrapped(std::string line, size_t indent, std::string_view text) {
  std::string done;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (line.size() + 1 + word.size() > line_width && line.size() > indent) {
      done += line + '\n';
      line = std::string(indent, ' ');
    } else if (line.size() > indent) {
      line += ' ';
    }
    line += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return done + line + '\n';
}

/// A name and what is said of it, in two columns.
std::string help_row(const std::string& name, std::string_view text) {
  std::string line = std::string(name_column, ' ') + name;
  if (line.size() + 2 <= text_column)
    return wrapped(line + std::string(text_column - line.size(), ' '), text_column, text);
  return line + '\n' + wrapped(std::string(text_column, ' '), text_column, text);
}

/// What the command-line library tells of a value: "INT:INT in [1 - 1024]", "TEXT:{f32,f16}", "FILE".
struct ShownValue {
  std::string shown;   ///< behind the name
  std::string choice;  ///< what may be given, for the text
  bool is_range = false;
};

ShownValue shown_value(const CLI::Option& option) {
  if (option.get_expected_max() == 0 || option.get_type_size() == 0) return {};
  const std::string type = option.get_type_name();
  const size_t colon = type.find(':');
  const std::string base = type.substr(0, colon), rule = colon == std::string::npos ? "" : type.substr(colon + 1);
  ShownValue value{.shown = base == "INT" || base == "UINT" ? "N"
                            : base == "FLOAT"               ? "X"
                                                            : base,
                   .choice = {},
                   .is_range = false};
  if (rule.starts_with('{')) {
    value.shown = base == "TEXT" ? "NAME" : base;
    std::string names = rule.substr(1, rule.find('}') - 1);
    for (size_t at = 0; (at = names.find(',', at)) != std::string::npos; at += 2) names.replace(at, 1, ", ");
    value.choice = names;
  } else if (const size_t range = rule.find(" in ["); range != std::string::npos) {
    const std::string bounds = rule.substr(range + 5, rule.find(']') - range - 5);
    const size_t to = bounds.find(" - ");
    const std::string low = bounds.substr(0, to), high = bounds.substr(to + 3);
    // Bounds that nobody meets are only there to be checked.
    value.is_range = true;
    if (high.size() <= 7 && low.size() <= 7) value.choice = fmt::format("{} to {}", low, high);
  }
  return value;
}

std::string option_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  if (!option.get_lnames().empty()) names.push_back("--" + option.get_lnames().front());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// " [64]", unless the text tells it. Lists come in brackets of their own.
std::string default_text(const CLI::Option& option) {
  std::string value = option.get_default_str();
  if (value.empty() || option.get_description().find("default") != std::string::npos) return "";
  return value.front() == '[' ? " " + value : fmt::format(" [{}]", value);
}

std::string option_row(const CLI::Option& option) {
  const ShownValue value = shown_value(option);
  std::string text = option.get_description();
  if (!value.choice.empty()) text += value.is_range ? fmt::format(" ({})", value.choice) : ": " + value.choice;
  text += default_text(option);
  if (option.get_required()) text += " (required)";
  if (option.get_lnames().size() > 1)
    text += fmt::format(" (also --{})", fmt::join(option.get_lnames().begin() + 1, option.get_lnames().end(), ", --"));
  return help_row(value.shown.empty() ? option_names(option) : fmt::format("{} {}", option_names(option), value.shown),
                  text);
}

std::string positional_name(const CLI::Option& option) {
  std::string name = option.get_name(true);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (option.get_expected_max() > 1) name += "..";
  return option.get_required() ? name : fmt::format("[{}]", name);
}

/// In the order of their first members, what all verbs have last.
template <class T>
std::vector<std::string> headings_of(const std::vector<T>& members) {
  std::vector<std::string> headings;
  for (const auto& member : members)
    if (const std::string& heading = member->get_group();
        !heading.empty() && std::ranges::find(headings, heading) == headings.end())
      headings.push_back(heading);
  std::ranges::stable_partition(
      headings, [](const std::string& heading) { return heading != device_heading && heading != output_heading; });
  std::ranges::stable_partition(headings, [](const std::string& heading) { return heading != output_heading; });
  return headings;
}

std::string options_text(const CLI::App& app) {
  std::string text;
  const auto options = app.get_options(
      [](const CLI::Option* option) { return !option->get_positional() && !option->get_group().empty(); });
  for (const std::string& heading : headings_of(options)) {
    text += fmt::format("\n{}:\n", heading);
    for (const CLI::Option* option : options)
      if (option->get_group() == heading) text += option_row(*option);
  }
  return text;
}

std::string verbs_text(const CLI::App& app) {
  std::string text;
  const auto verbs = app.get_subcommands([](const CLI::App* verb) { return !verb->get_group().empty(); });
  for (const std::string& heading : headings_of(verbs)) {
    text += fmt::format("\n{}:\n", heading);
    for (const CLI::App* verb : verbs) {
      if (verb->get_group() != heading) continue;
      const std::string description = verb->get_description();
      std::string name = verb->get_name();
      for (const std::string& alias : verb->get_aliases()) name += ", " + alias;
      text += help_row(name, std::string_view(description).substr(0, description.find('\n')));
    }
  }
  return text;
}

}  // namespace

std::string HelpText::make_help(const CLI::App* app, std::string /*path*/, CLI::AppFormatMode) const {
  std::string command = app->get_name();
  for (const CLI::App* parent = app->get_parent(); parent != nullptr; parent = parent->get_parent())
    command = parent->get_name() + " " + command;
  std::string usage = "Usage: " + command, positionals;
  for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return o->get_positional(); })) {
    usage += " " + positional_name(*option);
    std::string name = positional_name(*option);
    positionals += help_row(name, option->get_description() + default_text(*option));
  }
  const bool has_verbs = !app->get_subcommands([](const CLI::App*) { return true; }).empty();
  usage += has_verbs ? " VERB [OPTIONS]" : " [OPTIONS]";
  std::string description = app->get_description(), text;
  std::erase(description, '\n');
  text += wrapped("", 0, description) + '\n' + usage + '\n';
  if (!positionals.empty()) text += '\n' + positionals;
  text += verbs_text(*app) + options_text(*app);
  if (const std::string footer = app->get_footer(); app->get_parent() == nullptr) text += '\n' + footer + '\n';
  return text;
}

void put_below(CLI::App& command, const char* heading, std::initializer_list<const char*> options) {
  for (const char* option : options) command.get_option(option)->group(heading);
}

void put_common_below(CLI::App& command) {
  struct Common {
    const char* heading;
    std::vector<const char*> names;
  };
  static const Common common[] = {
      {device_heading,
       {"device", "device-memory", "host-memory", "facts", "segment-seconds", "tuning", "tune", "profile"}},
      {output_heading, {"json", "quiet", "verbose", "help", "version"}}};
  for (CLI::Option* option : command.get_options([](const CLI::Option*) { return true; }))
    for (const auto& [heading, names] : common)
      if (std::ranges::any_of(names, [&](const char* name) { return option->check_lname(name); }))
        option->group(heading);
}

}  // namespace vkformer
