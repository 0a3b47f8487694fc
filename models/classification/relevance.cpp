#include "models/classification/relevance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

Relevance relevance_of(const JsonObject& config) {
  constexpr const char *key = "activation_fn", *older_key = "sbert_ce_default_activation_function";
  std::string activation = string_or(config, older_key, "");
  if (config.has("sentence_transformers"))
    activation = string_or(require_object(config, "sentence_transformers"), key, activation);
  if (activation.empty() || activation.ends_with(".Sigmoid")) return Relevance::sigmoid;
  check(activation.ends_with(".Identity"), "{}: {} is {}; Sigmoid and Identity are supported", config.name(), key,
        in_quotes(activation));
  return Relevance::logit;
}

double relevance_score(Relevance relevance, float logit) {
  return relevance == Relevance::logit ? logit : 1 / (1 + std::exp(-static_cast<double>(logit)));
}

std::vector<size_t> descending(const std::vector<double>& scores) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return scores[i]; });
  return order;
}

}  // namespace vkformer
