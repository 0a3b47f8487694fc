#pragma once
// How far a command is and how long it still takes: a bar on a terminal; elsewhere, as in a log, a line now and then.

#include <cstdint>
#include <string>

namespace vkformer {

class Progress {
 public:
  /// Draws no bar in the first `patience` seconds, and writes no line in the first five.
  Progress(int64_t total, bool quiet, double patience = 0);
  ~Progress() { clear(); }
  /// Redraws at most ten times a second; the lines of a log are five seconds apart, then farther and farther, up to a
  /// minute.
  void show(int64_t done, const std::string& text);
  void expect(int64_t total) { total_ = total; }
  /// Removes the bar before something else is printed.
  void clear();

 private:
  int64_t total_;
  bool on_, terminal_;
  bool drawn_ = false;
  double started_, patience_, last_ = 0;
  double next_line_ = 5;  ///< seconds from the start
  int64_t first_ = -1;    ///< what was done when it was first told
  double first_time_ = 0;
};

/// Seconds on a steady clock.
double now();

/// Of verbs that answer texts: a bar while they work, and how fast it went. Begins with its construction.
class TextsProgress {
 public:
  /// `unit`: what is counted, as "lines".
  TextsProgress(const char* unit, bool quiet);
  void add(size_t more = 1);
  /// So many there are as far as is known.
  void expect(int64_t total) { bar_.expect(total); }
  /// Removes the bar before results are printed.
  void clear() { bar_.clear(); }
  /// Since it began.
  double seconds() const { return now() - start_; }
  /// Behind the results of `count` texts: "12 lines in 0.3 s: 40.0 lines/s" and a note, unless quiet. Throws Error when
  /// the results could not be written.
  void end(size_t count, const char* noun, const std::string& note = {}) const;

 private:
  Progress bar_;
  const char* unit_;
  bool quiet_;
  double start_;
  int64_t done_ = 0;
};

/// "1:05:09" or "2:03"
std::string clock_text(double seconds);

}  // namespace vkformer
