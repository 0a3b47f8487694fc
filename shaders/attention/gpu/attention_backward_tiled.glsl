// What the backward kernels share: weights are computed again from log_sum_exp.
#include "shaders/attention/gpu/attention_tiled.glsl"

// The weight of query t and key s, whose product times scale is `product`; negative where dropout drops it. `row` is
// (b * heads + h) * queries + t.
float signed_weight(float product, float log_sum_exp, int batch, int head, int t, int s, int row, int shift, int end) {
  const float score = score_of(product, batch, head, t, s);
  const float weight = visible(batch, t, s, shift, end) ? exp(score - log_sum_exp) : 0;
  if (!has_dropout) return weight;
  return kept_one(row, s) == 0 ? -weight : weight;
}

// Dropout's factor of a signed weight.
float kept_of(float signed_weight) {
  if (!has_dropout) return 1;
  return signed_weight < 0 ? 0 : 1.0 / (1.0 - args.source.dropout);
}
