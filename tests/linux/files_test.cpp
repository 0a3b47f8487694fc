// Files that are none, limits and full disks.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <thread>

#include "models/data/lines.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"
#include "tests/linux/child_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using namespace vkformer;
using namespace vkformer::testing;

TEST_CASE("pipes, devices and closed files are refused with a reason", "[files]") {
  const TemporaryFolder folder;
  ::mkfifo((folder / "pipe").c_str(), 0600);
  const auto error = [](const std::filesystem::path& path) { return error_of([&] { MappedFile file(path); }); };
  CHECK_THAT(error(folder / "pipe"), ContainsSubstring("not a regular file"));
  CHECK_THAT(error_of([&] { write_file_atomically("/dev/null", "x"); }), ContainsSubstring("not a regular file"));
  if (::geteuid() != 0) {
    put(folder / "closed", "x");
    ::chmod((folder / "closed").c_str(), 0);
    CHECK_THAT(error(folder / "closed"), ContainsSubstring("check its permissions"));
  }
}

TEST_CASE("a write cut short by a limit leaves the old file and no rest", "[files]") {
  const TemporaryFolder folder;
  put(folder / "a", "old");
  const std::string error = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {4096, 4096};
    ::setrlimit(RLIMIT_FSIZE, &limit);  // the first write stores 4096 bytes, the next one fails
    return error_of([&] { write_file_atomically(folder / "a", std::string(10000, 'x')); });
  });
  CHECK_THAT(error, ContainsSubstring((folder / "a").generic_string() + " (9.8 KiB): File too large; raise the limit"));
  CHECK(get(folder / "a") == "old");
  CHECK(names_in(folder.path()) == std::set<std::string>{"a"});
}

TEST_CASE("a full disk is reported with what is needed and what is free", "[files]") {
  const TemporaryFolder folder;
  const std::string answer = on_small_disk(folder.path(), [&] {
    put(folder / "a", "old");
    const std::vector<float> values(100'000);
    const std::string error =
        error_of([&] { write_safetensors(folder / "a", {TensorSource::of("w", {100'000}, values)}); });
    return error + (get(folder / "a") == "old" && names_in(folder.path()).size() == 1 ? " / clean" : " / not clean");
  });
  if (answer == "not permitted") SKIP("this system does not let a test mount a small disk");
  CHECK_THAT(answer, ContainsSubstring("(390.7 KiB): No space left on device; "));
  CHECK_THAT(answer, ContainsSubstring(folder.path().generic_string() + " has 60.0 KiB free: free some space"));
  CHECK_THAT(answer, EndsWith("/ clean"));
}

TEST_CASE("lines come out of a pipe", "[score]") {
  const TemporaryFolder folder;
  const auto pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::string text;
  for (int i = 0; i < 40000; ++i) text += "line\n";  // more than a pipe holds
  std::jthread writer([&] { put(pipe, text); });
  CHECK(read_lines(pipe) == std::vector<std::string>(40000, "line"));
}
