#pragma once
// --profile: shader timings for people, trace viewers and browsers.

#include <nlohmann/json.hpp>

#include "models/generation/generation.h"
#include "runtime/backend.h"
#include "runtime/tuning.h"
#include "tools/cli/common_flags.h"

namespace vkformer {

/// What a command that was asked for --profile tells of its programs; asked for none, nothing happens. `backend` and
/// `flags` must outlive it.
class ProfileReport {
 public:
  ProfileReport(const Backend& backend, const CommonFlags& flags);

  /// Takes what was measured of a program, which may go then.
  void add(const std::string& title, const Program& program);
  /// The same of what a generator ran; `batch` is put behind its programs' titles.
  void add(const Generator& generator, const std::string& batch = {});
  /// Prints for each program one row a kernel: count, mean of its medians, total, GFLOP/s, GB/s, with a roof the larger
  /// share of it, and the share of the time; then what replays recorded and allocated, and what follows from the
  /// figures. Kernels whose work depends on how full a cache is have no rates. On stderr: stdout has results.
  /// Writes the file: a page when its name ends with .html, else Chrome trace JSON, which Perfetto opens, with the
  /// profile_record() under "vkformer".
  void write();

 private:
  const Backend& backend_;
  const CommonFlags& flags_;
  std::optional<Roof> roof_;
  std::string text_;
  nlohmann::json programs_ = nlohmann::json::array(), events_ = nlohmann::json::array();
};

/// The same at once, of what a generator ran and of programs.
void report_profile(const Backend& backend, const CommonFlags& flags, const Generator& generator);
void report_profile(const Backend& backend, const CommonFlags& flags,
                    const std::vector<std::pair<std::string, const Program*>>& programs);

}  // namespace vkformer
