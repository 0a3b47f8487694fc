#pragma once
// A progress bar on a terminal; nothing elsewhere.

#include <cstdint>
#include <string>

namespace vkformer {

class Progress {
 public:
  /// Draws nothing in the first `patience` seconds.
  Progress(int64_t total, bool quiet, double patience = 0);
  ~Progress() { clear(); }
  /// Redraws at most ten times a second.
  void show(int64_t done, const std::string& text);
  /// Removes the bar before something else is printed.
  void clear();

 private:
  int64_t total_;
  bool on_;
  bool drawn_ = false;
  double started_, patience_, last_ = 0;
  int64_t first_ = -1;
};

/// "1:05:09" or "2:03"
std::string clock_text(double seconds);
/// Seconds on a steady clock.
double now();

}  // namespace vkformer
