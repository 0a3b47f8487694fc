// The formulas of attention.h in double precision: weights = softmax(score over the visible keys and the sink), result
// = (weights * keep) v.
#include <algorithm>
#include <cmath>

#include "runtime/random.h"
#include "shaders/attention/attention_problem.h"

namespace vkformer {

namespace {

/// Element access to the sources of one node, and the rules about them.
struct Sources {
  AttentionProblem problem;
  Inputs in;

  Sources(const Node& node, Inputs inputs) : problem(node), in(inputs) {}

  static int64_t at(const HeadSource& source, int64_t row, int64_t head, int64_t width) {
    return row * source.stride + source.column + head * width;
  }
  int64_t q_at(int64_t b, int64_t h, int64_t t) const {
    return at(problem.q, b * problem.queries + t, h, problem.head_width);
  }
  int64_t k_at(int64_t b, int64_t h, int64_t s) const {
    return at(problem.k, b * problem.keys + s, h / problem.group(), problem.head_width);
  }
  int64_t v_at(int64_t b, int64_t h, int64_t s) const {
    return at(problem.v, b * problem.keys + s, h / problem.group(), problem.value_width);
  }
  int64_t row(int64_t b, int64_t h, int64_t t) const { return (b * problem.heads + h) * problem.queries + t; }
  int64_t result_at(int64_t b, int64_t h, int64_t t) const {
    return ((b * problem.queries + t) * problem.heads + h) * problem.value_width;
  }
  bool visible(int64_t b, int64_t t, int64_t s) const {
    const int64_t position =
        problem.has_position ? static_cast<int64_t>((*in[attention_position])[problem.position_shared ? 0 : b]) : 0;
    if (s < problem.key_begin(t, position) || s >= problem.key_end(t, position)) return false;
    if (problem.mask_rows == 0) return true;
    const int64_t mask_batch = problem.mask_shared ? 0 : b, mask_row = problem.mask_rows == 1 ? 0 : t;
    return (*in[attention_mask])[(mask_batch * problem.mask_rows + mask_row) * problem.keys + s] != 0;
  }

  int64_t bias_at(int64_t b, int64_t h, int64_t t, int64_t s) const {
    return row(problem.bias_shared ? 0 : b, h, t) * problem.keys + s;
  }

  double product(int64_t b, int64_t h, int64_t t, int64_t s) const {
    const HostTensor &q = *in[problem.q.input], &k = *in[problem.k.input];
    double sum = 0;
    for (int64_t c = 0; c < problem.head_width; ++c) sum += q[q_at(b, h, t) + c] * k[k_at(b, h, s) + c];
    return problem.scale * sum;
  }
  double score(int64_t b, int64_t h, int64_t t, int64_t s) const {
    double value = product(b, h, t, s);
    if (problem.softcap > 0) value = problem.softcap * std::tanh(value / problem.softcap);
    return problem.has_bias ? value + (*in[attention_bias])[bias_at(b, h, t, s)] : value;
  }
  /// Derivative of the score by the product.
  double score_slope(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (problem.softcap == 0) return 1;
    const double capped = std::tanh(product(b, h, t, s) / problem.softcap);
    return 1 - capped * capped;
  }
  /// Dropout's factor of the weight of key s: 0 or 1 / (1 - dropout).
  double keep(int64_t b, int64_t h, int64_t t, int64_t s) const {
    if (problem.dropout == 0) return 1;
    const HostTensor& seed = *in[attention_seed];
    const auto word = philox4x32_10({static_cast<uint32_t>(s / 4), static_cast<uint32_t>(row(b, h, t)),
                                     static_cast<uint32_t>(static_cast<int64_t>(seed[1])), 0},
                                    {static_cast<uint32_t>(static_cast<int64_t>(seed[0])),
                                     static_cast<uint32_t>(problem.stream)})[static_cast<size_t>(s % 4)];
    // The probability as the device has it, in f32.
    return uniform(word) < static_cast<double>(static_cast<float>(problem.dropout)) ? 0 : 1 / (1 - problem.dropout);
  }
  template <class Body>
  void for_each_row(Body body) const {
    for (int64_t b = 0; b < problem.batches; ++b)
      for (int64_t h = 0; h < problem.heads; ++h)
        for (int64_t t = 0; t < problem.queries; ++t) body(b, h, t);
  }
};

}  // namespace

void attention_reference(const Node& node, Inputs in, Outputs out) {
  const Sources sources(node, in);
  const AttentionProblem& problem = sources.problem;
  const HostTensor& v = *in[problem.v.input];
  sources.for_each_row([&](int64_t b, int64_t h, int64_t t) {
    std::vector<std::pair<int64_t, double>> scores;  // of the keys that the query sees
    for (int64_t s = 0; s < problem.keys; ++s)
      if (sources.visible(b, t, s)) scores.emplace_back(s, sources.score(b, h, t, s));
    if (scores.empty() && !problem.has_sinks) return;
    const double sink = problem.has_sinks ? (*in[attention_sinks])[h] : -HUGE_VAL;
    double largest = sink;
    for (const auto& [s, score] : scores) largest = std::max(largest, score);
    double sum = std::exp(sink - largest);
    for (const auto& [s, score] : scores) sum += std::exp(score - largest);
    for (const auto& [s, score] : scores) {
      const double weight = std::exp(score - largest) / sum * sources.keep(b, h, t, s);
      for (int64_t c = 0; c < problem.value_width; ++c)
        out[0][sources.result_at(b, h, t) + c] += weight * v[sources.v_at(b, h, s) + c];
    }
    out[1][sources.row(b, h, t)] = largest + std::log(sum);
  });
}

void attention_backward_reference(const Node& node, Inputs in, Outputs out) {
  const Sources sources(node, in);
  const AttentionProblem& problem = sources.problem;
  const HostTensor &q = *in[problem.q.input], &k = *in[problem.k.input], &v = *in[problem.v.input];
  const HostTensor &result = *in[attention_result], &upstream = *in[attention_upstream];
  const auto output_of = [&](size_t input) -> HostTensor& { return out[gradient_output(node, input)]; };
  HostTensor &dq = output_of(problem.q.input), &dk = output_of(problem.k.input), &dv = output_of(problem.v.input);
  sources.for_each_row([&](int64_t b, int64_t h, int64_t t) {
    const int64_t at = sources.result_at(b, h, t), q_at = sources.q_at(b, h, t);
    double delta = 0;
    for (int64_t c = 0; c < problem.value_width; ++c) delta += upstream[at + c] * result[at + c];
    if (problem.has_sinks)
      output_of(attention_sinks)[h] -=
          std::exp((*in[attention_sinks])[h] - (*in[attention_log_sum_exp])[sources.row(b, h, t)]) * delta;
    for (int64_t s = 0; s < problem.keys; ++s) {
      if (!sources.visible(b, t, s)) continue;
      const int64_t k_at = sources.k_at(b, h, s), v_at = sources.v_at(b, h, s);
      const double weight = std::exp(sources.score(b, h, t, s) - (*in[attention_log_sum_exp])[sources.row(b, h, t)]);
      const double keep = sources.keep(b, h, t, s);
      double of_weight = 0;  // gradient of the dropped-out weight
      for (int64_t c = 0; c < problem.value_width; ++c) {
        of_weight += upstream[at + c] * v[v_at + c];
        dv[v_at + c] += weight * keep * upstream[at + c];
      }
      const double of_score = weight * (keep * of_weight - delta);
      if (problem.has_bias) output_of(attention_bias)[sources.bias_at(b, h, t, s)] += of_score;
      const double of_product = of_score * sources.score_slope(b, h, t, s) * problem.scale;
      for (int64_t c = 0; c < problem.head_width; ++c) {
        dq[q_at + c] += of_product * k[k_at + c];
        dk[k_at + c] += of_product * q[q_at + c];
      }
    }
  });
}

void attention_weights_reference(const Node& node, Inputs in, Outputs out) {
  const Sources sources(node, in);
  const int64_t keys = sources.problem.keys;
  sources.for_each_row([&](int64_t b, int64_t h, int64_t t) {
    const int64_t row = sources.row(b, h, t);
    for (int64_t s = 0; s < keys; ++s)
      if (sources.visible(b, t, s))
        out[0][row * keys + s] = std::exp(sources.score(b, h, t, s) - (*in[attention_weights_log_sum_exp])[row]);
  });
}

}  // namespace vkformer
