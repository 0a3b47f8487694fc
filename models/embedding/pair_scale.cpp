#include "models/embedding/pair_scale.h"

#include <cmath>

#include "models/classification/batch_logits.h"
#include "models/families/vision/two_towers.h"

namespace vkformer {

PairScale::PairScale(const Model& whole, const Store& store)
    : factor_(std::exp(static_cast<double>(store.read(logit_scale).front()))),
      bias_(scores_pairs(whole) ? static_cast<double>(store.read(logit_bias).front()) : 0),
      each_(scores_pairs(whole)) {}

std::vector<double> PairScale::probabilities(const std::vector<double>& cosines) const {
  std::vector<float> logits;
  for (const double cosine : cosines) logits.push_back(static_cast<float>(logit(cosine)));
  return each_ ? sigmoids_of(logits) : softmax_of(logits);
}

}  // namespace vkformer
