// Checkpoints survive a kill at any instant.

#include "runtime/files/checkpoint.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using namespace vkformer;
using namespace vkformer::testing;
namespace fs = std::filesystem;

namespace {

/// Two files that both say which step they are of.
void commit(CheckpointWriter& writer, int64_t step, CheckpointWriter::Older older = CheckpointWriter::Older::remove) {
  writer.commit(
      step,
      [&](const fs::path& folder) {
        const std::vector<float> values(1000, static_cast<float>(step));
        write_safetensors(folder / "model.safetensors", {TensorSource::of("w", {1000}, values)});
        write_json(folder / "state.json", {{"step", step}});
      },
      older);
}

/// The step of a checkpoint; -1 when it is not complete and of one piece.
int64_t step_of(const fs::path& folder) {
  const int64_t step = require_integer(JsonObject::load(folder / "state.json"), "step", 0, INT64_MAX);
  const SafetensorsFile file(folder / "model.safetensors");
  std::vector<float> values(1000);
  file.read_floats(file.require("w"), values);
  return values == std::vector<float>(1000, static_cast<float>(step)) ? step : -1;
}

/// The step of the latest checkpoint, 0 without one.
int64_t latest_step(const fs::path& run) {
  const std::optional<fs::path> folder = latest_checkpoint(run);
  return folder ? step_of(*folder) : 0;
}

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

TEST_CASE("a checkpoint replaces the one before it", "[files]") {
  const TemporaryFolder folder;
  const fs::path run = folder / "new/run";
  CHECK_FALSE(latest_checkpoint(run));
  CheckpointWriter writer(run);
  CHECK_FALSE(latest_checkpoint(run));
  commit(writer, 100);
  CHECK(latest_checkpoint(run) == run / "checkpoint-000100");
  CHECK(get(run / "latest") == "checkpoint-000100\n");
  commit(writer, 12345678);
  CHECK(latest_step(run) == 12345678);
  CHECK(names_in(run) == std::set<std::string>{"checkpoint-12345678", "latest"});
  CHECK(names_in(run / "checkpoint-12345678") == std::set<std::string>{"model.safetensors", "state.json"});
}

TEST_CASE("older checkpoints are kept when asked, other files always", "[files]") {
  const TemporaryFolder run;
  for (const char* name : {"metrics.jsonl", "checkpoint-best", "checkpoint-5", "latest.md", "checkpoint-000001-1"})
    put(run / name, "mine");
  CheckpointWriter writer(run.path(), 2);
  for (const int64_t step : {1, 2, 3}) commit(writer, step);
  CHECK(names_in(run.path()) == std::set<std::string>{"metrics.jsonl", "checkpoint-best", "checkpoint-5", "latest.md",
                                                      "checkpoint-000001-1", "checkpoint-000002", "checkpoint-000003",
                                                      "latest"});
  commit(writer, 3);
  CHECK(latest_checkpoint(run.path()) == run / "checkpoint-000003-2");
  CHECK(fs::exists(run / "checkpoint-000003"));
  CHECK_FALSE(fs::exists(run / "checkpoint-000002"));
  // Back to an earlier step: what lies in the abandoned future goes.
  commit(writer, 1);
  CHECK(latest_step(run.path()) == 1);
  CHECK_FALSE(fs::exists(run / "checkpoint-000003"));
  CHECK_FALSE(fs::exists(run / "checkpoint-000003-2"));
}

TEST_CASE("a checkpoint can be withdrawn until those before it are removed", "[files]") {
  using Older = CheckpointWriter::Older;
  const TemporaryFolder run;
  CheckpointWriter writer(run.path());
  writer.remove_older();
  CHECK_FALSE(writer.withdraw());
  commit(writer, 1, Older::keep);
  CHECK_FALSE(writer.withdraw());
  CHECK(latest_step(run.path()) == 1);
  commit(writer, 2, Older::keep);
  CHECK(writer.withdraw() == 1);
  CHECK(names_in(run.path()) == std::set<std::string>{"checkpoint-000001", "latest"});
  CHECK(latest_step(run.path()) == 1);
  commit(writer, 2, Older::keep);
  commit(writer, 3, Older::keep);
  CHECK(names_in(run.path()) == std::set<std::string>{"checkpoint-000002", "checkpoint-000003", "latest"});
  writer.remove_older();
  CHECK(names_in(run.path()) == std::set<std::string>{"checkpoint-000003", "latest"});
  CHECK_FALSE(writer.withdraw());
  CHECK(latest_step(run.path()) == 3);
}

TEST_CASE("what an interruption wrote between the regular checkpoints does not count", "[files]") {
  using Older = CheckpointWriter::Older;
  const TemporaryFolder run;
  CheckpointWriter writer(run.path(), 2, 10);
  const auto steps = [&] {
    std::vector<int64_t> kept;
    for (const fs::path& folder : kept_checkpoints(run.path(), 10)) kept.push_back(named_step(folder));
    return kept;
  };
  for (const int64_t step : {20, 30, 34}) commit(writer, step, Older::keep);
  CHECK(steps() == std::vector<int64_t>{34, 30, 20});
  writer.remove_older();
  CHECK(steps() == std::vector<int64_t>{34, 30});
  commit(writer, 36, Older::keep);
  CHECK(steps() == std::vector<int64_t>{36, 30});
  CHECK(fs::exists(run / "checkpoint-000034"));  // the last that is known to be good
  writer.remove_older();
  CHECK_FALSE(fs::exists(run / "checkpoint-000034"));
  commit(writer, 40, Older::keep);
  writer.remove_older();
  CHECK(names_in(run.path()) == std::set<std::string>{"checkpoint-000030", "checkpoint-000040", "latest"});
}

TEST_CASE("a checkpoint that cannot be written leaves the one before it", "[files]") {
  const TemporaryFolder run;
  CheckpointWriter writer(run.path());
  commit(writer, 1);
  const std::string error = error_of([&] {
    writer.commit(2, [](const fs::path& folder) {
      put(folder / "model.safetensors", "part");
      fail("no more");
    });
  });
  CHECK(error == "no more");
  CHECK(latest_step(run.path()) == 1);
  CHECK(names_in(run.path()) == std::set<std::string>{"checkpoint-000001", "latest"});
  CHECK_THAT(error_of([&] { writer.commit(-1, [](const fs::path&) {}); }), ContainsSubstring("steps count from 0"));
}

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

TEST_CASE("a run directory has one writer", "[files]") {
  const TemporaryFolder run;
  {
    const CheckpointWriter writer(run.path());
    CHECK_THAT(error_of([&] { CheckpointWriter second(run.path()); }), ContainsSubstring("in use by another"));
  }
  CHECK(error_of([&] { CheckpointWriter second(run.path()); }).empty());
  CHECK_THAT(error_of([&] { CheckpointWriter second(run.path(), 0); }), ContainsSubstring("keep at least 1"));
  put(run / "file", "");
  CHECK_THAT(error_of([&] { CheckpointWriter second(run / "file"); }), ContainsSubstring("cannot create"));
}

TEST_CASE("a writer whose run was moved or replaced touches nothing", "[files]") {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", moved = folder.path() / "moved";
  CheckpointWriter writer(run);
  commit(writer, 1);
  fs::rename(run, moved);
  CHECK_THROWS_WITH(commit(writer, 2), ContainsSubstring("is not the folder any more"));
  CheckpointWriter another(run);
  commit(another, 5);
  CHECK_THROWS_WITH(commit(writer, 2), ContainsSubstring("is not the folder any more"));
  CHECK_THROWS_WITH(writer.remove_older(), ContainsSubstring("is not the folder any more"));
  CHECK_THROWS_WITH(writer.withdraw(), ContainsSubstring("is not the folder any more"));
  CHECK(latest_step(run) == 5);
  CHECK(latest_step(moved) == 1);
  CHECK_THROWS_WITH(check_not_in_use(run), ContainsSubstring("in use by another"));
}

TEST_CASE("a checkpoint's folder tells its step", "[files]") {
  CHECK(named_step("run/checkpoint-000123") == 123);
  CHECK(named_step("checkpoint-1000000-2") == 1000000);
  for (const char* name : {"run", "checkpoint-", "checkpoint-12", "checkpoint-000012.tmp", "checkpoint--00012"})
    CHECK_THAT(error_of([&] { named_step(name); }), ContainsSubstring("is not named as a checkpoint"));
}

TEST_CASE("a latest file that names no checkpoint is refused", "[files]") {
  const TemporaryFolder run;
  fs::create_directories(run / "checkpoint-000001");
  fs::create_directories(run / "checkpoint-000002.tmp");
  for (const char* content : {"checkpoint-000003\n", "checkpoint-000002.tmp\n", "../x", "/etc",
                              "checkpoint-000001/../x", "checkpoint-000001\n\n", "checkpoint-1", "checkpoint--00001",
                              "checkpoint-000001--2", "checkpoint-99999999999999999999", "checkpoint-", "\n"}) {
    put(run / "latest", content);
    CHECK_THAT(error_of([&] { latest_checkpoint(run.path()); }), ContainsSubstring("not a checkpoint folder"));
    CHECK_THAT(error_of([&] { CheckpointWriter writer(run.path()); }), ContainsSubstring("not a checkpoint folder"));
  }
  put(run / "latest", "");
  CHECK_THAT(error_of([&] { latest_checkpoint(run.path()); }), ContainsSubstring("empty"));
  put(run / "latest", "checkpoint-000001");
  CHECK(latest_checkpoint(run.path()) == run / "checkpoint-000001");
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
