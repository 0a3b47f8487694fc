#pragma once
// A conformance case as graphs, with its data; internal to this folder.

#include "runtime/backend.h"
#include "runtime/conform/conform.h"

namespace vkformer {

/// "[37, 65] - [65] epsilon=1e-05"; "-" stands for an absent input.
std::string describe(const Case& c);

/// Name of input i in the graphs below.
std::string input_name(size_t i);
std::string output_name(size_t i);

/// The one-node graph of a case.
struct CaseGraph {
  Graph graph;
  Values inputs, outputs;
};
CaseGraph build(const Op& op, const Case& c);

/// The case's graph with the gradients of all f32 inputs but data as outputs gradient0, ...; the upstream gradient of
/// output 0 is a further input, of its type. `wanted` are the inputs that have a gradient, `constant` those for which
/// the rule says there is none.
struct GradientGraph {
  Graph graph;
  Case extended;  ///< with the upstream gradient as its last input
  std::vector<size_t> wanted, constant;
};
GradientGraph build_gradient(const Op& op, const Case& c);

/// Random values of all inputs (nothing for absent ones), the same in every run.
std::vector<HostTensor> random_inputs(const Op& op, const Case& c);
void write_inputs(Program& program, const Case& c, const std::vector<HostTensor>& tensors);

/// Outputs of the reference; aliased outputs start as their input.
std::vector<HostTensor> run_reference(const Node& node, const std::vector<HostTensor>& inputs);

}  // namespace vkformer
