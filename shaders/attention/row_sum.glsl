// What the sum of a row's weights gives: 0 for a query that sees no key, NaN where a score is (which `sum > 0` with
// zeros for the rest would hide).
float reciprocal_of(float sum) { return sum > 0 ? 1.0 / sum : sum; }
float log_sum_exp_of(float maximum, float sum) { return sum > 0 ? maximum + log(sum) : sum; }

// Lets a sink into the sum of a row's weights, which are exponentials of scores less `maximum`, and gives the factor
// that makes them those less the new maximum.
float add_sink(float sink, inout float maximum, inout float sum) {
  const float larger = max(maximum, sink);
  const float factor = exp(maximum - larger);
  sum = sum * factor + exp(sink - larger);
  maximum = larger;
  return factor;
}
