#pragma once
// One file a verb; main.cpp calls each function once to add its subcommand.

#include <CLI/CLI.hpp>

#include "runtime/backend.h"

namespace vkformer {

/// Flags every verb shares.
struct CommonFlags {
  std::string device;
  std::string profile;
  bool json = false;
  bool quiet = false;
};

/// Adds --device (and, where asked for, --profile, --json, --quiet).
void add_common_flags(CLI::App& command, CommonFlags& flags);
/// Opens the device and, unless quiet, says on stderr which it is.
std::unique_ptr<Backend> open_backend(const CommonFlags& flags, double segment_seconds = 0.1);

void add_devices(CLI::App& app);
void add_ops(CLI::App& app);
void add_conform(CLI::App& app);
void add_bench(CLI::App& app);
void add_train(CLI::App& app);
void add_generate(CLI::App& app);
void add_verify(CLI::App& app);

}  // namespace vkformer
