// Checkpoints of a run.

#include "runtime/files/checkpoint.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "tests/checkpoint_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
namespace fs = std::filesystem;

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
