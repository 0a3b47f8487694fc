#pragma once
// What the tests of files share.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/host/machine.h"

namespace vkformer::testing {

/// A new empty folder that goes away with the object; in memory where the system offers that.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static std::atomic<int> counter = 0;
    std::error_code none;
    const auto name = fmt::format("vkformer-test-{}-{}", host::process_id(), counter++);
    for (const std::filesystem::path& base :
         {std::filesystem::path("/dev/shm"), std::filesystem::temp_directory_path()})
      if (std::filesystem::create_directory(path_ = base / name, none)) return;
    fail("cannot create {}", path_.generic_string());
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
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.insert(entry.path().filename().generic_string());
  return names;
}

/// A safetensors file from the text of its header and the bytes behind it.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string file;
  for (size_t i = 0; i < 8; ++i) file.push_back(static_cast<char>(header.size() >> (8 * i)));
  return file + header + data;
}

}  // namespace vkformer::testing
