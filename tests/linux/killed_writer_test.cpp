// Checkpoints survive a kill at any instant, and a full disk.

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/checkpoint_helpers.h"
#include "tests/linux/child_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using namespace vkformer;
using namespace vkformer::testing;
namespace fs = std::filesystem;

namespace {

/// Starts a writer in another process, kills it at its `stops`-th system-call boundary, and says whether it was still
/// at work. Nothing when the system does not let a test trace its child.
std::optional<bool> killed_at(const fs::path& run, int64_t step, int stops) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(9);
    ::raise(SIGSTOP);
    CheckpointWriter writer(run);
    commit(writer, step);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status)) return std::nullopt;
  for (int i = 0; i < stops; ++i) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    ::waitpid(child, &status, 0);
    if (WIFEXITED(status)) return WEXITSTATUS(status) == 0 ? std::optional(false) : std::nullopt;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return true;
}

}  // namespace

TEST_CASE("a disk that fills up before the last file leaves the checkpoint before", "[files]") {
  const TemporaryFolder run;
  const std::string answer = on_small_disk(run.path(), [&]() -> std::string {
    CheckpointWriter writer(run.path());
    commit(writer, 1);
    const std::string error = error_of([&] {
      writer.commit(2, [](const fs::path& folder) {
        std::ofstream filler(folder / "model.safetensors");
        while (filler.put('x').flush()) {
        }
      });
    });
    const bool clean = names_in(run.path()) == std::set<std::string>{"checkpoint-000001", "latest"};
    return error + (clean && latest_step(run.path()) == 1 ? " / clean" : " / not clean");
  });
  if (answer == "not permitted") SKIP("this system does not let a test mount a small disk");
  CHECK_THAT(answer, ContainsSubstring("latest (18 bytes): No space left on device"));
  CHECK_THAT(answer, EndsWith("/ clean"));
}

TEST_CASE("a kill at any system call leaves the old or the new checkpoint", "[files][long]") {
  for (const int64_t before : {0, 1}) {
    int stops = 0;
    int found_old = 0;
    int found_new = 0;
    for (bool alive = true; alive; ++stops) {
      const TemporaryFolder run;
      if (before > 0) {
        CheckpointWriter writer(run.path());
        commit(writer, before);
      }
      const std::optional<bool> killed = killed_at(run.path(), before + 1, stops);
      if (!killed) SKIP("this system does not let a test trace its child");
      alive = *killed;
      const int64_t step = latest_step(run.path());
      INFO("killed at boundary " << stops << ", found step " << step);
      REQUIRE((step == before || step == before + 1));
      REQUIRE((alive || step == before + 1));
      ++(step == before ? found_old : found_new);
      for (const std::string& name : names_in(run.path()))
        if (name.starts_with("checkpoint-") && !name.ends_with(".tmp")) REQUIRE(step_of(run / name) > 0);
      // Whatever is left, the next writer works and cleans up.
      CheckpointWriter writer(run.path());
      commit(writer, before + 1);
      REQUIRE(latest_step(run.path()) == before + 1);
      REQUIRE(names_in(run.path()).size() == 2);
    }
    CHECK(found_old > 20);
    CHECK(found_new > 2);
  }
}

TEST_CASE("kills at random times leave a complete checkpoint, never older than announced", "[files]") {
  const TemporaryFolder run;
  uint64_t random = 12345;
  int64_t announced = 0;
  for (int round = 0; round < 30; ++round) {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
      CheckpointWriter writer(run.path());
      for (int64_t step = latest_step(run.path()) + 1;; ++step) {
        commit(writer, step);
        if (::write(ends[1], &step, sizeof step) != sizeof step) ::_exit(1);
      }
    }
    ::close(ends[1]);
    random = random * 6364136223846793005u + 1442695040888963407u;
    // Some time after it has announced up to three, however slow the machine is.
    const auto drawn = static_cast<useconds_t>(random >> 33);
    int64_t step = 0;
    for (useconds_t wanted = drawn % 4; wanted > 0; --wanted) {
      REQUIRE(::read(ends[0], &step, sizeof step) == sizeof step);
      announced = step;
    }
    ::usleep(drawn / 4 % 2000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(ends[0], &step, sizeof step) == sizeof step) announced = step;
    ::close(ends[0]);
    const int64_t found = latest_step(run.path());
    REQUIRE((found == announced || found == announced + 1));
    announced = found;
  }
  CHECK(announced > 0);
}
