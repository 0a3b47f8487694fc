#pragma once
// Checkpoints that say which step they are of.

#include <nlohmann/json.hpp>

#include "runtime/files/checkpoint.h"
#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"

namespace vkformer::testing {

/// Two files that both say which step they are of.
inline void commit(CheckpointWriter& writer, int64_t step,
                   CheckpointWriter::Older older = CheckpointWriter::Older::remove) {
  writer.commit(
      step,
      [&](const std::filesystem::path& folder) {
        const std::vector<float> values(1000, static_cast<float>(step));
        write_safetensors(folder / "model.safetensors", {TensorSource::of("w", {1000}, values)});
        write_json(folder / "state.json", {{"step", step}});
      },
      older);
}

/// The step of a checkpoint; -1 when it is not complete and of one piece.
inline int64_t step_of(const std::filesystem::path& folder) {
  const int64_t step = require_integer(JsonObject::load(folder / "state.json"), "step", 0, INT64_MAX);
  const SafetensorsFile file(folder / "model.safetensors");
  std::vector<float> values(1000);
  file.read_floats(file.require("w"), values);
  return values == std::vector<float>(1000, static_cast<float>(step)) ? step : -1;
}

/// The step of the latest checkpoint, 0 without one.
inline int64_t latest_step(const std::filesystem::path& run) {
  const std::optional<std::filesystem::path> folder = latest_checkpoint(run);
  return folder ? step_of(*folder) : 0;
}

}  // namespace vkformer::testing
