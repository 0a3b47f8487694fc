#pragma once
// What most verbs can be asked for, and how the device of a command is opened.

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"

namespace vkformer {

/// Flags most verbs share.
struct CommonFlags {
  std::string device;
  std::vector<double> shares;  ///< of several devices, see BackendOptions
  std::string profile;
  std::string facts;                       ///< file of another device's facts, within which kernels are chosen
  std::string device_memory, host_memory;  ///< see memory_limits(); empty: all that is free
  bool json = false;
  bool quiet = false;
  /// File of measured choices; empty: the device's own; "none": verbs that prove something follow no measurement.
  std::string tuning = "none";
  bool tune = false;             ///< measure what is missing there before the first run
  double segment_seconds = 0.1;  ///< see BackendOptions
  bool watch_compiling = true;   ///< unless quiet: say how far a driver is that compiles for long
};

/// Where the device's driver is faster with wider vectors, and the environment does not say how wide they shall be,
/// sets it there: true, and whoever opened the device opens it again.
bool widen_vectors(const DeviceFacts& facts);
/// make_backend() with the widest vectors that pay, and with its notes on stderr.
std::unique_ptr<Backend> open_device(const std::string& device, BackendOptions options = {});
/// Opens the device with its measured choices and, unless quiet, says on stderr which it is. `tuning_written`: --tuning
/// may name a new file.
std::unique_ptr<Backend> open_backend(const CommonFlags& flags, BackendOptions options = {},
                                      bool tuning_written = false);

}  // namespace vkformer
