#include "tools/commands.h"

namespace vkformer {

void add_common_flags(CLI::App& command, CommonFlags& flags) {
  command.add_option("-d,--device", flags.device,
                     "device number or part of its name (see 'vkformer devices'), or 'reference' for the CPU");
  command.add_option("--profile", flags.profile,
                     "time every dispatch: table on screen, Chrome trace JSON (Perfetto) into FILE")
      ->type_name("FILE");
  command.add_flag("--json", flags.json, "machine-readable output");
  command.add_flag("-q,--quiet", flags.quiet, "results only");
}

std::unique_ptr<Backend> open_backend(const CommonFlags& flags, double segment_seconds) {
  auto backend = make_backend(flags.device, {.profile = !flags.profile.empty(), .segment_seconds = segment_seconds});
  if (!flags.quiet) fmt::print(stderr, "{}\n", backend->describe());
  return backend;
}

}  // namespace vkformer
