// The command `vkformer <verb>`. Exit status: 0 done, 1 failed, 2 wrong usage.

#include "runtime/check.h"
#include "tools/commands.h"

int main(int argc, char** argv) {
  CLI::App app{"vkformer: Transformers on any Vulkan device, from recorded command buffers"};
  app.set_version_flag("--version", "vkformer " VKFORMER_VERSION);
  app.require_subcommand(1);
  vkformer::add_train(app);
  vkformer::add_generate(app);
  vkformer::add_devices(app);
  vkformer::add_ops(app);
  vkformer::add_conform(app);
  vkformer::add_bench(app);
  vkformer::add_verify(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "vkformer: {}; see 'vkformer --help'\n", error.what());
    return 2;
  } catch (const vkformer::UsageError& error) {
    fmt::print(stderr, "vkformer: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "vkformer: {}\n", error.what());
    return 1;
  }
  return 0;
}
