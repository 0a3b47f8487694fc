#include "tools/commands.h"

namespace vkformer {

std::unique_ptr<Backend> open_backend(const CommonFlags& flags, double segment_seconds) {
  auto backend = make_backend(flags.device, {.profile = !flags.profile.empty(), .segment_seconds = segment_seconds});
  if (!flags.quiet) fmt::print(stderr, "{}\n", backend->describe());
  return backend;
}

}  // namespace vkformer
