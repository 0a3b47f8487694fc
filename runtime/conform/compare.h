#pragma once
// Results compared with their reference; internal to this folder.

#include "runtime/conform/case_graph.h"

namespace vkformer {

void fail_with(ConformResult& result, std::string detail);

/// The largest error that each row of a result may have. A row is held to its own numbers, or it could be wrong beside
/// one of larger ones, but counts as no less than an eighth of the whole tensor, and as all of it in 16 bits.
std::vector<double> row_limits(const HostTensor& expected, double relative);

using NamedTensors = std::vector<std::pair<std::string, HostTensor>>;

/// Runs `program` twice on the inputs, compares with `expected` by output name, and with itself bit for bit.
void run_and_compare(ConformResult& result, Program& program, const Case& c, const std::vector<HostTensor>& inputs,
                     const NamedTensors& expected);

/// d/dh <upstream, f(x + h direction)> by central differences of fourth order, against <gradient, direction>; the
/// gradient of a constant input is zero.
void finite_differences(ConformResult& result, const Op& op, const Case& c, const GradientGraph& built,
                        const std::vector<HostTensor>& inputs, const NamedTensors& gradients);

}  // namespace vkformer
