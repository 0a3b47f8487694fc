#pragma once
// The keys that the config.json of every family with latent attention has.

#include <nlohmann/json_fwd.hpp>

#include "models/families/decoder/decoder.h"

namespace vkformer {

/// Reads the widths over the defaults in `d.latent`, and the angles; all layers have latent attention. After
/// read_decoder(). Throws Error naming file and key for values that can't be.
void read_latent(const JsonObject& json, Decoder& d);
/// What that reads.
nlohmann::json latent_keys(const Decoder& d);

}  // namespace vkformer
