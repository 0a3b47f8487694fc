#include "tools/cli/command_line.h"

#include <cmath>
#include <cstdlib>
#include <sstream>

#include "tools/cli/output.h"
#include "tools/cli/verbs.h"

namespace vkformer {

void add_profile_flag(CLI::App& command, CommonFlags& flags) {
  command
      .add_option(
          "--profile", flags.profile,
          "time every dispatch: table on screen, and into FILE a page (.html) or a trace that Perfetto opens and "
          "`vkformer profile` compares (.json)")
      ->type_name("FILE");
}

void add_facts_flag(CLI::App& command, CommonFlags& flags) {
  command
      .add_option(
          "--facts", flags.facts,
          "choose and launch kernels as on the device of this file (`vkformer devices --json` there), within its "
          "limits; subgroups stay this device's")
      ->type_name("FILE");
}

void add_common_flags(CLI::App& command, CommonFlags& flags) {
  command.add_option("-d,--device", flags.device,
                     "device number or part of its name (see 'vkformer devices'), or 'reference' for the CPU");
  add_profile_flag(command, flags);
  add_facts_flag(command, flags);
  command.add_flag("--json", flags.json, "machine-readable output");
  command.add_flag("-q,--quiet", flags.quiet, "results only");
}

void add_tuning_flag(CLI::App& command, CommonFlags& flags) {
  flags.tuning.clear();
  command
      .add_option(
          "--tuning", flags.tuning,
          "measured choices of kernels (see 'vkformer tune'; default: this device's own); none: heuristics only")
      ->type_name("FILE");
}

void add_dtype(CLI::App& command, std::string& dtype, const char* help) {
  command.add_option("--dtype", dtype, help)->check(CLI::IsMember({"f32", "f16", "bf16"}))->capture_default_str();
}

std::vector<std::string> weight_types() {
  std::vector<std::string> names;
  for (size_t i = 0; i < dtype_count; ++i)
    if (const auto type = static_cast<DType>(i); type != DType::i32) names.emplace_back(name_of(type));
  return names;
}

void add_weight_dtype(CLI::App& command, std::string& dtype, const char* help) {
  CLI::Option* option = command.add_option("--dtype", dtype, help)->check(CLI::IsMember(weight_types()));
  if (!dtype.empty()) option->capture_default_str();
}

void add_stride(CLI::App& command, int64_t& stride) {
  command
      .add_option("--stride", stride,
                  "tokens that neighbouring windows of a long text share (default: 128, or a third of the context)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31));
}

void add_tune_flags(CLI::App& command, CommonFlags& flags) {
  add_tuning_flag(command, flags);
  command.add_flag("--tune", flags.tune,
                   "first measure kernels for nodes that were never measured here, and keep that");
}

CLI::Validator finite_number() {
  return {[](std::string& text) {
            const bool finite = std::isfinite(std::strtod(text.c_str(), nullptr));
            return finite ? std::string() : fmt::format("{} is no finite number", text);
          },
          ""};
}

namespace {

void refuse_infinities(CLI::App& app) {
  for (CLI::Option* option : app.get_options())
    if (option->get_type_name().starts_with("FLOAT"))
      option->transform(finite_number());  // before other checks, whose words for it are worse
  for (CLI::App* verb : app.get_subcommands(std::function<bool(CLI::App*)>())) refuse_infinities(*verb);
}

}  // namespace

void remember_given(CLI::App& command, std::set<std::string>& given) {
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0) given.insert(option->get_name());
}

void run_command_line(int argc, char** argv) {
  CLI::App app{"vkformer: Transformers on any Vulkan device, from recorded command buffers"};
  app.set_version_flag("--version", "vkformer " VKFORMER_VERSION);
  app.require_subcommand(1);
  add_model_verbs(app);
  add_data_verbs(app);
  add_device_verbs(app);
  refuse_infinities(app);
  const auto verbs = app.get_subcommands(nullptr);
  if (argc > 1 && argv[1][0] != '-' &&
      std::none_of(verbs.begin(), verbs.end(), [&](const CLI::App* verb) { return verb->check_name(argv[1]); }))
    throw UsageError(fmt::format("there is no verb '{}'; see 'vkformer --help'", argv[1]));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(fmt::format("{}; see 'vkformer --help'", error.what()));
    std::ostringstream text;  // --help, --version
    app.exit(error, text, text);
    print("{}", text.str());
  }
}

}  // namespace vkformer
