// The command `vkformer <verb>`. Exit status: 0 done, 1 failed, 2 wrong usage.

#include <filesystem>
#include <new>
#include <system_error>

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "runtime/host/lost_pages.h"
#include "runtime/host/streams.h"
#include "tools/cli/command_line.h"
#include "tools/cli/output.h"

int main(int argc, char** argv) {
  vkformer::host::prepare_streams();
  vkformer::host::name_lost_pages();
  try {
    vkformer::run_command_line(argc, argv);
    vkformer::check_output();
  } catch (const vkformer::UsageError& error) {
    vkformer::say("vkformer: {}", error.what());
    return 2;
  } catch (const vkformer::ReaderLeft&) {
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string where = error.path1().empty() ? "a file" : vkformer::printable(error.path1().generic_string());
    vkformer::say("vkformer: {}: {}; check the disk and its permissions", where, error.code().message());
    return 1;
  } catch (const std::system_error& error) {  // of a thread, mostly
    vkformer::say("vkformer: the system refuses: {}; raise its limits (ulimit -a) or end other programs",
                  error.code().message());
    return 1;
  } catch (const std::bad_alloc&) {
    vkformer::say_text("vkformer: out of memory; use a smaller model, batch or file, or end other programs\n");
    return 1;
  } catch (const std::exception& error) {
    vkformer::say("vkformer: {}", error.what());
    return 1;
  }
  return 0;
}
