#pragma once
// What the logit of a cross-encoder, a classifier of pairs with one label, says of how well they fit together.

#include "runtime/files/json_file.h"

namespace vkformer {

/// As sentence-transformers' CrossEncoder gives it.
enum class Relevance : uint8_t {
  sigmoid,  ///< of the logit
  logit,    ///< itself, where config.json has the activation Identity
};

/// Throws Error, which names the file, for another activation.
Relevance relevance_of(const JsonObject& config);

double relevance_score(Relevance relevance, float logit);

/// Places of scores, the highest first, equal ones in their order.
std::vector<size_t> descending(const std::vector<double>& scores);

}  // namespace vkformer
