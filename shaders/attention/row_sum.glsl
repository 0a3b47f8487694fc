// What the sum of a row's weights gives: 0 for a query that sees no key, NaN where a score is (which `sum > 0` with
// zeros for the rest would hide).
float reciprocal_of(float sum) { return sum > 0 ? 1.0 / sum : sum; }
float log_sum_exp_of(float maximum, float sum) { return sum > 0 ? maximum + log(sum) : sum; }
