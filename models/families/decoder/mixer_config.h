#pragma once
// The key layer_types of families whose layers begin with attention or with what stands for it.

#include <nlohmann/json_fwd.hpp>

#include "models/families/decoder/decoder.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// Gives `mixer` to the layers that layer_types calls `recurrent`; the others have a name of `attention`, of which the
/// first is the usual one. Whether the key is there. Throws Error naming file and key for other names or another number
/// of them than there are layers.
bool read_mixers(const JsonObject& json, Decoder& d, std::string_view recurrent, Decoder::Mixer mixer,
                 std::initializer_list<std::string_view> attention);
/// What that reads.
nlohmann::json mixer_types(const Decoder& d, std::string_view recurrent, std::string_view attention);

/// Checks that steps of state spaces have no bounds, as in all released models.
void check_steps(const JsonObject& json);
/// What that reads.
nlohmann::json step_keys();

}  // namespace vkformer
