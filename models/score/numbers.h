#pragma once
// Scores of numbers beside the right ones.

#include <span>

namespace vkformer {

/// Of as many predicted numbers as right ones, at least one.
double mean_squared_error(std::span<const double> predicted, std::span<const double> right);
/// Pearson's correlation; 0 where either has only one value.
double pearson_correlation(std::span<const double> predicted, std::span<const double> right);
/// Spearman's: that of their ranks, those of equal numbers being the mean of theirs.
double spearman_correlation(std::span<const double> predicted, std::span<const double> right);
/// Of scores, and whether what they are of is wanted (above 0.5): the mean, over the wanted ones, of the share of
/// wanted ones among all that score as much or more (scikit-learn's average_precision_score). 0 where none is wanted.
double average_precision(std::span<const double> scores, std::span<const double> wanted);

}  // namespace vkformer
