#pragma once
// Processes of a test's own.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "runtime/check.h"

namespace vkformer::testing {

/// Runs `action` in a process of its own and returns the string it returns.
template <class Action>
std::string in_child(Action action) {
  int ends[2];
  if (::pipe(ends) != 0) fail("no pipe");
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string answer = action();
    const ssize_t sent = ::write(ends[1], answer.data(), answer.size());
    ::_exit(sent == static_cast<ssize_t>(answer.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string answer;
  char buffer[256];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) answer.append(buffer, static_cast<size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0 ? answer : "the child failed: " + answer;
}

/// Like in_child, with a disk of 64 KiB at `folder` that only the child sees; "not permitted" where that cannot be.
template <class Action>
std::string on_small_disk(const std::filesystem::path& folder, Action action) {
  return in_child([&]() -> std::string {
    const bool separate = ::unshare(CLONE_NEWNS) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0;
    const bool mounted = separate && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                         ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64k") == 0;
    return mounted ? action() : "not permitted";
  });
}

}  // namespace vkformer::testing
