#pragma once
// What a model with two towers makes of how near a picture and a text lie.

#include <vector>

#include "models/model.h"

namespace vkformer {

class PairScale {
 public:
  /// `whole`: of make_two_towers(), its parameters in `store`.
  PairScale(const Model& whole, const Store& store);

  double logit(double cosine) const { return factor_ * cosine + bias_; }
  /// By the cosines of a picture with texts: shares of one probability (CLIP), or each text's own (SigLIP).
  std::vector<double> probabilities(const std::vector<double>& cosines) const;

 private:
  double factor_, bias_;
  bool each_;
};

}  // namespace vkformer
