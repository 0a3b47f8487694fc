#include "tools/cli/command_line.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include <fmt/ranges.h>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/help_text.h"
#include "tools/cli/memory_limits.h"
#include "tools/cli/output.h"
#include "tools/cli/usage_messages.h"
#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

/// The command-line library takes 010 for eight.
CLI::Validator decimal() {
  return {[](std::string& text) {
            const size_t sign = text.starts_with('-') || text.starts_with('+');
            const size_t digits = text.find_first_not_of('0', sign);
            if (digits != text.npos && text.find_first_not_of("0123456789", sign) == text.npos)
              text.erase(sign, digits - sign);
            return std::string();
          },
          ""};
}

/// Before other checks of an option, whose words for what is no number are worse.
void check_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type.starts_with("FLOAT")) option->transform(finite_number());
    if (type.starts_with("INT") || type.starts_with("UINT")) option->transform(decimal());
  }
  for (CLI::App* verb : app.get_subcommands(std::function<bool(CLI::App*)>())) check_numbers(*verb);
}

}  // namespace

void remember_given(CLI::App& command, std::set<std::string>& given) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) given.insert(option->get_name());
}

namespace {

constexpr const char* examples =
    R"(vkformer VERB --help tells what a verb takes. MODEL is a Hugging Face folder, a .gguf, or what train wrote:
  vkformer chat MODEL
  vkformer generate MODEL -p "Once upon a time"
  vkformer train models/configs/tiny-gpt.json --data FILE --out RUN)";

struct Job {
  const char* heading;
  std::vector<const char*> verbs;
};

/// What verbs are for, in the order in which they are shown.
void put_verbs_below_jobs(CLI::App& app) {
  const Job jobs[] = {{"Train", {"train", "evaluate"}},
                      {"Use a model",
                       {"generate", "chat", "serve", "translate", "transcribe", "classify", "fill", "tag", "answer",
                        "embed", "attention"}},
                      {"Model files", {"download", "info", "perplexity", "convert", "logits"}},
                      {"Texts and vocabularies", {"tokens", "encode", "decode", "data", "score"}},
                      {"Prove a device", {"devices", "ops", "conform", "verify"}},
                      {"Measure", {"bench", "tune", "pipelines", "profile"}}};
  for (const auto& [heading, verbs] : jobs)
    for (const char* verb : verbs) app.get_subcommand(verb)->group(heading);
}

/// The verb that the command line has got to: "data numbers" is one of "data".
const CLI::App* parsed_verb(const CLI::App& app) {
  const auto parsed = app.get_subcommands();
  return parsed.empty() ? &app : parsed_verb(*parsed.back());
}

bool is_below(const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::error_code none;
  for (auto above = std::filesystem::weakly_canonical(file, none); above.has_relative_path();) {
    above = above.parent_path();
    if (std::filesystem::equivalent(above, folder, none)) return true;
  }
  return false;
}

/// Models' folders may be made of links.
bool is_linked_from(const std::filesystem::path& folder, const std::filesystem::path& file) {
  std::error_code none;
  for (std::filesystem::directory_iterator entry(folder, none), end; entry != end; entry.increment(none))
    if (std::filesystem::equivalent(entry->path(), file, none)) return true;
  return false;
}

/// What scripts give when a variable is not set.
void refuse_empty_paths(const CLI::App& verb) {
  for (const CLI::Option* option : verb.get_options())
    for (const char* kind : {"FILE", "FOLDER", "DIR", "RUN"})
      if (option->get_type_name() == kind && std::ranges::count(option->results(), "") > 0)
        throw UsageError(fmt::format("{} is empty; give a name, or leave it out", option->get_name()));
}

/// A result does not replace what it is made of: a file that another option names, or one in a model's folder.
void refuse_to_replace_inputs(const CLI::App& verb) {
  for (const char* name : {"--out", "--report", "--profile"}) {
    const CLI::Option* output = verb.get_option_no_throw(name);
    if (output == nullptr || output->count() == 0) continue;
    const std::filesystem::path file = output->results().back();
    std::error_code none;
    if (!std::filesystem::is_regular_file(file, none)) continue;
    for (const CLI::Option* option : verb.get_options()) {
      if (option == output) continue;
      for (const std::string& word : option->results())
        if (std::filesystem::equivalent(file, word == "-" ? "/dev/stdin" : word, none) ||
            (file.extension() != ".html" && (is_below(file, word) || is_linked_from(word, file))))
          throw UsageError(
              fmt::format("{} {}: the file is there, and belongs to what this command reads ({}); give another name",
                          name, in_quotes(file.generic_string()), in_quotes(word)));
    }
  }
}

}  // namespace

void run_command_line(int argc, char** argv) {
  CLI::App app{"Transformers on any Vulkan device: inference, training and proof", "vkformer"};
  app.allow_windows_style_options(false);  // a word that begins with / is a path
  app.formatter(std::make_shared<HelpText>());
  app.set_version_flag("--version", "vkformer " VKFORMER_VERSION);
  app.require_subcommand(1);
  app.footer(examples);
  add_model_verbs(app);
  add_data_verbs(app);
  add_device_verbs(app);
  check_numbers(app);
  put_verbs_below_jobs(app);
  put_common_below(app);
  const auto verbs = app.get_subcommands([](CLI::App*) { return true; });
  for (CLI::App* verb : verbs) {
    put_common_below(*verb);
    verb->parse_complete_callback([verb] {
      if (const std::string missing = about_missing_value(*verb); !missing.empty()) throw UsageError(missing);
      refuse_empty_paths(*verb);
      refuse_to_replace_inputs(*verb);
    });
  }
  // "help VERB" is "VERB --help", and "help" alone "--help".
  std::string help = "--help";
  std::vector<char*> words(argv, argv + argc);
  if (argc > 1 && std::string_view(argv[1]) == "help") {
    words.erase(words.begin() + 1);
    words.push_back(help.data());
    argv = words.data();
  }
  if (argc > 1 && argv[1][0] != '-' &&
      std::ranges::none_of(verbs, [&](CLI::App* verb) { return verb->check_name(argv[1]); }))
    throw UsageError(about_unknown_verb(app, argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // llama.cpp's, which read as a short option and its value; -hf even as a call for help.
    for (const auto& [foreign, way] :
         {std::pair{
              "-ngl",
              "weights lie in the device's memory where there is room, others in the host's: --device-memory 6G leaves "
              "it less, -d names one (-d reference: the CPU) or several"},
          {"-ncmoe", "experts go to host memory first where a device has no room; --device-memory 6G leaves it less"},
          {"-ot", "weights go to host memory by how little of them a token reads; --device-memory 6G leaves it less"},
          {"-hf", "vkformer download OWNER/NAME gets a model, and OWNER/NAME then stands for it"},
          {"-fa", "attention is always computed as flash attention does"},
          {"-sys", "chat --system has the system's text"},
          {"-no-cnv", "generate goes on from a text, chat talks"},
          {"-cnv", "generate goes on from a text, chat talks"}})
      if (std::find(argv, argv + argc, std::string_view(foreign)) != argv + argc)
        throw UsageError(fmt::format("{}: {}", foreign, way));
    if (error.get_exit_code() != 0) throw UsageError(what_is_wrong(*parsed_verb(app), error));
    std::ostringstream text;  // --help, --version
    app.exit(error, text, text);
    print("{}", text.str());
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}; {}", error.what(), see_help(*parsed_verb(app))));
  }
}

}  // namespace vkformer
