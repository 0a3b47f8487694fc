#pragma once
// What `vkformer attention` writes: tokens and weights, as the data of pages/attention.html.

#include <nlohmann/json_fwd.hpp>

#include "models/inspection/attention_maps.h"

namespace vkformer {

/// The tokens that a map's rows and columns belong to.
struct AttentionTokens {
  std::vector<std::string> source;   ///< of the encoder; empty without one
  std::vector<std::string> read;     ///< of the model, or of the decoder: what each position reads
  std::vector<std::string> written;  ///< of a decoder whose text is known: what each position writes; or empty
};

/// {"kinds": [{"name", "heads", "rows", "columns", "written", "layers": [[weights of a head, ...], ...]}, ...],
/// "alphabet"}. Weights are whole thousandths, coded as text: see coded_thousandths().
nlohmann::json attention_page_data(const std::vector<AttentionMap>& maps, const AttentionTokens& tokens);

/// Weights between 0 and 1 as thousandths in about one character each. `alphabet` has 89 characters, which stand for
/// digits 0 to 88. A number below 77 is one digit; n >= 77 is 77 + (n - 77) / 89, then (n - 77) % 89; three to 88 zeros
/// are 88, then how many. No row that sums to 1 has more than 12 numbers of two digits.
std::string coded_thousandths(std::span<const float> weights, std::string_view alphabet);

}  // namespace vkformer
