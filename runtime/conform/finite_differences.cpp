#include <cmath>

#include "runtime/conform/compare.h"

namespace vkformer {

namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace

void finite_differences(ConformResult& result, const Op& op, const Case& c, const GradientGraph& built,
                        const std::vector<HostTensor>& inputs, const NamedTensors& gradients) {
  const Node node = build(op, c).graph.nodes().front();
  const std::vector<double>& upstream = inputs.back().data;
  constexpr double h = 1e-3;
  const auto check_input = [&](size_t input, const std::vector<double>& gradient) {
    for (uint64_t trial = 0; trial < 3; ++trial) {
      const HostTensor direction = random_tensor({.type = inputs[input].type}, 77 + trial);
      const auto value_at = [&](double step) {
        std::vector<HostTensor> moved(inputs.begin(), inputs.end() - 1);
        for (size_t i = 0; i < direction.data.size(); ++i) moved[input].data[i] += step * direction.data[i];
        return dot(upstream, run_reference(node, moved)[0].data);
      };
      const double numeric = (8 * (value_at(h) - value_at(-h)) - (value_at(2 * h) - value_at(-2 * h))) / (12 * h);
      const double analytic = dot(gradient, direction.data);
      const double share = std::abs(numeric - analytic) / (1e-5 * (std::sqrt(dot(gradient, gradient)) + 1e-3));
      result.worst = std::max(result.worst, share);
      if (!(share <= 1))
        fail_with(result, fmt::format("gradient of input {}: finite differences give {:.9g}, the rule {:.9g}", input,
                                      numeric, analytic));
    }
  };
  for (size_t w = 0; w < built.wanted.size(); ++w) check_input(built.wanted[w], gradients[w].second.data);
  for (size_t input : built.constant) check_input(input, std::vector<double>(inputs[input].data.size()));
}

}  // namespace vkformer
