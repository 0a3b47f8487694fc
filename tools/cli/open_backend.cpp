#include "tools/cli/commands.h"
#include "tools/cli/tune.h"

namespace vkformer {

std::unique_ptr<Backend> open_backend(const CommonFlags& flags, BackendOptions options, bool tuning_written) {
  options.profile |= !flags.profile.empty();
  auto backend = make_backend(flags.device, options);
  if (!flags.quiet) fmt::print(stderr, "{}\n", backend->describe());
  use_tuning(*backend, flags, tuning_written || flags.tune);
  return backend;
}

}  // namespace vkformer
