#pragma once
// What is made of files again and again, kept in memory.

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace vkformer {

/// Of as many files as a GiB holds, the first that are asked for: to decode them takes as long as small models train.
/// Threads may share it.
class KeptFloats {
 public:
  /// What `make` gives for this file, now or when it was asked for before.
  std::vector<float> of(const std::filesystem::path& file, const std::function<std::vector<float>()>& make) const;

 private:
  mutable std::map<std::filesystem::path, std::vector<float>> kept_;
  mutable std::mutex mutex_;
};

}  // namespace vkformer
