#pragma once
// Which checks there are, and one of them alone; internal to this folder.

#include <optional>

#include "runtime/conform/case_graph.h"

namespace vkformer {

/// Cases that fulfil the options' name and pattern: takes (op, case). Throws UsageError as conform() does.
void for_each_case(const ConformOptions& options, const std::function<void(const Op&, const Case&)>& take);

/// The kernels to be proved for a case; "" for an op that has no choice. Throws UsageError as conform() does.
std::vector<std::string_view> kernels_of(const Op& op, const Case& c, const DeviceFacts& facts,
                                         const ConformOptions& options);

/// The case's graph with all its outputs.
Graph forward_graph(const Op& op, const Case& c);

/// The same with result 0 in the place of the operand that it may overwrite; nothing where there is none, or where it
/// is of a type that can't be copied.
std::optional<Graph> in_place_graph(const Op& op, const Case& c);

/// A kernel's result, compared with the reference's.
ConformResult check_forward(Backend& backend, const Op& op, const Case& c, std::string_view candidate);

}  // namespace vkformer
