#pragma once
// Measured choices on the command line: --tuning, --tune, `vkformer tune`.

#include "models/tuning/model_tuner.h"
#include "tools/cli/common_flags.h"

namespace vkformer {

/// Loads the choices that --tuning names (by default the device's own file) into the backend. A file that does not fit
/// is ignored with one line on stderr. Throws Error when a file that was named is not there, unless it is to be
/// `written`.
void use_tuning(Backend& backend, const CommonFlags& flags, bool written = false);
/// The file that measured choices are kept in. Throws UsageError for --tuning none, and Error, before anything is
/// measured, where it can't be written.
std::filesystem::path tuning_file(const CommonFlags& flags, const DeviceFacts& facts);
/// Adds to the backend's choices and to its file. Throws UsageError for --tuning none.
void keep_tuning(Backend& backend, const CommonFlags& flags, const Tuning& measured);

/// With --tune: lets `measure` add the choices that are still missing, with progress on a terminal, and keeps them.
void tune_missing(Backend& backend, const CommonFlags& flags,
                  const std::function<void(Tuning&, const TuneObserver&)>& measure);

/// The device's measured roof, if there is one.
std::optional<Roof> roof_of(const Backend& backend);

}  // namespace vkformer
