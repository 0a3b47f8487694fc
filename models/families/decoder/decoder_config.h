#pragma once
// The keys that the config.json of every family of a Decoder has.

#include <nlohmann/json_fwd.hpp>

#include "models/families/decoder/decoder.h"

namespace vkformer {

/// Reads them over the family's defaults in `d`, of which `kv_heads` 0 stands for as many as heads, `head_width` 0 for
/// width / heads. All layers begin alike. `architecture`: the one of the family that there is. Throws Error naming file
/// and key for values that can't be.
void read_decoder(const JsonObject& json, Decoder& d, const char* architecture, const char* activation = "hidden_act");
/// What read_decoder() reads, as transformers loads it.
nlohmann::json decoder_keys(const Decoder& d, const char* architecture, const char* activation = "hidden_act");

/// Reads the angles that all layers share, and how much of each head turns where the family has `parts` of heads turn.
void read_rotary(const JsonObject& json, Decoder& d, double usual_theta = 10000, bool parts = false);
/// What that reads, where parts of heads turn.
nlohmann::json part_rotary_keys(const Decoder& d);
/// Reads two kinds of angles, those of layers without a window and those of layers with one, of which rope_parameters
/// has an object each. Files of older versions have the first where others have all; what the second are then `local`
/// says.
void read_rotaries(const JsonObject& json, Decoder& d, double usual_theta, double usual_local_theta,
                   const std::function<RotaryConfig(const RotaryConfig& full)>& local);
/// Both, and the first as older versions read it.
nlohmann::json rotary_keys(const Decoder& d);
/// A bound of scores or logits; `usual` for an absent key, 0 for null: there is none.
double read_cap(const JsonObject& json, const char* key, double usual);
nlohmann::json cap_or_null(double cap);
/// sliding_window; 0 for null, `usual` for an absent key.
int64_t window_of(const JsonObject& json, int64_t usual);
/// Gives that window to the layers that layer_types names or, in a file without that list, to those that `has_window`
/// says.
void set_windows(const JsonObject& json, Decoder& d, int64_t window, const std::function<bool(int64_t)>& has_window);
/// Qwen's: with use_sliding_window alone, from layer max_window_layers on; absent are 4096 and 28.
void read_upper_windows(const JsonObject& json, Decoder& d);
nlohmann::json upper_windows(const Decoder& d);
/// The list that transformers 5 keeps: "sliding_attention" or "full_attention" for each layer.
nlohmann::json layer_types(const Decoder& d);
/// The window of the layers that have one; null: none has.
nlohmann::json sliding_window(const Decoder& d);

}  // namespace vkformer
