#pragma once
// Everything that reads what others wrote, for coverage-guided fuzzing by libFuzzer: tests/fuzz/run.
// An input is read, or refused by an Error of one short line; anything else (a crash, another exception, more than the
// time or memory that the script grants) is a finding.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string_view>

namespace fuzz {

struct Reader {
  std::string_view name;
  void (*read)(std::string_view input);
};
extern const std::span<const Reader> readers_of_models;
extern const std::span<const Reader> readers_of_data;
extern const std::span<const Reader> readers_of_runs;

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// A folder of this process.
inline const std::filesystem::path& folder() {
  static const std::filesystem::path folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "vkformer-fuzz-XXXXXX").generic_string();
    require(mkdtemp(name.data()) != nullptr);
    return std::filesystem::path(name);
  }();
  return folder;
}

/// Writes a file there, for what reads files by name.
inline std::filesystem::path written(const std::filesystem::path& name, std::string_view content) {
  const std::filesystem::path file = folder() / name;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
  return file;
}

}  // namespace fuzz
