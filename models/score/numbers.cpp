#include "models/score/numbers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace vkformer {

namespace {

double mean_of(std::span<const double> numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
         static_cast<double>(std::max<size_t>(1, numbers.size()));
}

std::vector<size_t> in_order(std::span<const double> numbers) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, {}, [&](size_t i) { return numbers[i]; });
  return order;
}

std::vector<double> ranks_of(std::span<const double> numbers) {
  const std::vector<size_t> order = in_order(numbers);
  std::vector<double> ranks(numbers.size());
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && numbers[order[end]] == numbers[order[begin]]) ++end;
    for (size_t i = begin; i < end; ++i) ranks[order[i]] = static_cast<double>(begin + end - 1) / 2;
  }
  return ranks;
}

}  // namespace

double mean_squared_error(std::span<const double> predicted, std::span<const double> right) {
  double sum = 0;
  for (size_t i = 0; i < right.size(); ++i) sum += (predicted[i] - right[i]) * (predicted[i] - right[i]);
  return sum / static_cast<double>(right.size());
}

double pearson_correlation(std::span<const double> predicted, std::span<const double> right) {
  const double mean = mean_of(predicted), right_mean = mean_of(right);
  double both = 0, squares = 0, right_squares = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    const double a = predicted[i] - mean, b = right[i] - right_mean;
    both += a * b;
    squares += a * a;
    right_squares += b * b;
  }
  return squares > 0 && right_squares > 0 ? both / std::sqrt(squares * right_squares) : 0;
}

double spearman_correlation(std::span<const double> predicted, std::span<const double> right) {
  return pearson_correlation(ranks_of(predicted), ranks_of(right));
}

double average_precision(std::span<const double> scores, std::span<const double> wanted) {
  std::vector<size_t> order = in_order(scores);
  std::ranges::reverse(order);
  double all = 0, sum = 0;
  for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    double more = 0;
    for (; end < order.size() && scores[order[end]] == scores[order[begin]]; ++end) more += wanted[order[end]] > 0.5;
    all += more;
    sum += more * all / static_cast<double>(end);
  }
  return all > 0 ? sum / all : 0;
}

}  // namespace vkformer
