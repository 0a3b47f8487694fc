#pragma once
// What the tests of files share.

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "runtime/check.h"

namespace vkformer::testing {

/// A new empty folder that goes away with the object; in memory where the system offers that.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    const std::filesystem::path memory = "/dev/shm";
    const auto base = ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    std::string name = base / "vkformer-test-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) fail("cannot create {}", name);
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// The message of the Error that `action` throws; "" when it throws none. Every message must be one line.
template <class Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    return message.find_first_of("\r\n") == message.npos ? message : "more than one line: " + message;
  }
  return "";
}

inline void put(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string get(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

/// A safetensors file from the text of its header and the bytes behind it.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i)));
  return file + header + data;
}

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
