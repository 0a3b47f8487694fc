#include "tools/commands.h"

namespace vkformer {

std::unique_ptr<Backend> open_backend(const CommonFlags& flags, BackendOptions options) {
  options.profile = !flags.profile.empty();
  auto backend = make_backend(flags.device, options);
  if (!flags.quiet) fmt::print(stderr, "{}\n", backend->describe());
  return backend;
}

}  // namespace vkformer
