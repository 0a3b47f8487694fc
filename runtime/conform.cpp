#include "runtime/conform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <regex>

#include "runtime/autodiff.h"
#include "runtime/half.h"

namespace vkformer {

namespace {

std::string describe(const Case& c) {
  std::string text;
  for (const CaseInput& input : c.inputs)
    text += input.absent ? "- "
                         : fmt::format("{}{} ", is_half(input.type.dtype) ? name_of(input.type.dtype) : "",
                                       input.type.shape.to_string());
  return text + c.attributes.to_string();
}

std::string input_name(size_t i) { return fmt::format("input{}", i); }

/// The one-node graph of a case; outputs are marked as output0, output1, ...
struct CaseGraph {
  Graph graph;
  Values inputs, outputs;
};

CaseGraph build(const Op& op, const Case& c) {
  CaseGraph built;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    built.inputs.push_back(c.inputs[i].absent
                               ? Value{}
                               : built.graph.input(input_name(i), c.inputs[i].type.shape, c.inputs[i].type.dtype));
  built.outputs = built.graph.add(op, built.inputs, c.attributes);
  return built;
}

std::vector<HostTensor> random_inputs(const Op& op, const Case& c) {
  std::vector<HostTensor> tensors;
  uint64_t seed = 1469598103934665603ULL;
  for (char letter : op.name) seed = (seed ^ static_cast<uint8_t>(letter)) * 1099511628211ULL;
  for (const CaseInput& input : c.inputs) tensors.push_back(input.absent ? HostTensor{} : random_tensor(input, seed++));
  return tensors;
}

void write_inputs(Program& program, const Case& c, const std::vector<HostTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (c.inputs[i].absent) continue;
    const auto& data = tensors[i].data;
    if (tensors[i].type.dtype == DType::i32)
      program.write(input_name(i), std::vector<int32_t>(data.begin(), data.end()));
    else
      program.write(input_name(i), std::vector<float>(data.begin(), data.end()));
  }
}

/// Outputs of the reference; aliased outputs start as their input.
std::vector<HostTensor> run_reference(const Node& node, const std::vector<HostTensor>& inputs) {
  std::vector<const HostTensor*> pointers;
  for (size_t i = 0; i < inputs.size(); ++i) pointers.push_back(node.has_input(i) ? &inputs[i] : nullptr);
  std::vector<HostTensor> outputs;
  for (size_t o = 0; o < node.output_types.size(); ++o) {
    outputs.emplace_back(node.output_types[o]);
    const int source = o < node.op->aliases.size() ? node.op->aliases[o] : -1;
    if (source >= 0) outputs.back().data = inputs[static_cast<size_t>(source)].data;
  }
  if (node.op->reference) node.op->reference(node, pointers, outputs);
  return outputs;
}

/// Compares; records the worst share of the tolerance and the first violation.
void compare(ConformResult& result, const std::string& name, std::span<const float> got, const HostTensor& expected,
             double relative) {
  double largest = 0;
  for (double value : expected.data) largest = std::max(largest, std::abs(value));
  const double limit = relative * largest + 1e-7;
  for (size_t i = 0; i < got.size(); ++i) {
    double value = static_cast<double>(got[i]);
    if (expected.type.dtype == DType::i32) {
      int32_t integer;
      static_assert(sizeof integer == sizeof(float));
      std::copy_n(reinterpret_cast<const char*>(&got[i]), 4, reinterpret_cast<char*>(&integer));
      value = integer;
    }
    const double error = std::abs(value - expected.data[i]);
    if (!(error <= limit) && result.verdict == ConformResult::Verdict::ok) {
      result.verdict = ConformResult::Verdict::failed;
      result.detail =
          fmt::format("{}[{}] = {:g}, expected {:g}, tolerance {:g}", name, i, value, expected.data[i], limit);
    }
    if (std::isfinite(error)) result.worst = std::max(result.worst, error / limit);
  }
}

void fail_with(ConformResult& result, std::string detail) {
  if (result.verdict == ConformResult::Verdict::ok) result.detail = std::move(detail);
  result.verdict = ConformResult::Verdict::failed;
}

/// Runs `program` twice on the inputs, compares with `expected` by output name, and with itself bit for bit.
void run_and_compare(ConformResult& result, Program& program, const Case& c, const std::vector<HostTensor>& inputs,
                     const std::vector<std::pair<std::string, HostTensor>>& expected) {
  std::vector<std::vector<float>> first;
  for (int pass = 0; pass < 2; ++pass) {
    write_inputs(program, c, inputs);
    program.run();
    program.check_guards();
    for (size_t o = 0; o < expected.size(); ++o) {
      const auto got = program.read(expected[o].first);
      if (pass == 0) {
        compare(result, expected[o].first, got, expected[o].second,
                tolerance(expected[o].second.type.dtype, c.reduction));
        first.push_back(got);
      } else if (!std::equal(got.begin(), got.end(), first[o].begin(), [](float a, float b) {
                   return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
                 })) {
        fail_with(result, expected[o].first + " differs between two runs: a race");
      }
    }
  }
}

ConformResult forward_check(Backend& backend, const Op& op, const Case& c, std::string_view candidate) {
  ConformResult result{.op = std::string(op.name), .what = describe(c), .check = "forward", .detail = {}};
  if (!candidate.empty()) result.what += fmt::format(" {{{}}}", candidate);
  try {
    CaseGraph built = build(op, c);
    const auto inputs = random_inputs(op, c);
    const auto reference = run_reference(built.graph.nodes().front(), inputs);
    std::vector<std::pair<std::string, HostTensor>> expected;
    for (size_t o = 0; o < reference.size(); ++o) {
      expected.emplace_back(fmt::format("output{}", o), reference[o]);
      built.graph.mark_output(built.outputs[o], expected.back().first);
    }
    auto program = backend.compile(std::move(built.graph), backend.make_store({}),
                                   {.guard_bytes = 256, .candidate = std::string(candidate)});
    run_and_compare(result, *program, c, inputs, expected);
  } catch (const Error& error) {
    fail_with(result, error.what());
  }
  return result;
}

/// The case's graph with the gradients of all f32 inputs but data as outputs gradient0, ...; the upstream gradient of
/// output 0 is a further input. `wanted` are the inputs that have a gradient, `constant` those for which the rule says
/// there is none.
struct GradientGraph {
  Graph graph;
  Case extended;  ///< with the upstream gradient as its last input
  std::vector<size_t> wanted, constant;
};

GradientGraph build_gradient(const Op& op, const Case& c) {
  GradientGraph built;
  CaseGraph forward = build(op, c);
  built.extended = c;
  built.extended.inputs.push_back({{forward.graph.shape(forward.outputs[0])}});
  const Value upstream = forward.graph.input(input_name(c.inputs.size()), forward.graph.shape(forward.outputs[0]));
  Values wanted;
  const auto differentiated = [](const CaseInput& input) {
    return !input.absent && !input.constant && input.type.dtype == DType::f32;
  };
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (differentiated(c.inputs[i])) wanted.push_back(forward.inputs[i]);
  const Values gradients = differentiate(forward.graph, forward.outputs[0], upstream, wanted);
  size_t next = 0;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    if (!differentiated(c.inputs[i])) continue;
    if (const Value gradient = gradients[next++]) {
      forward.graph.mark_output(gradient, fmt::format("gradient{}", built.wanted.size()));
      built.wanted.push_back(i);
    } else {
      built.constant.push_back(i);
    }
  }
  built.graph = std::move(forward.graph);
  return built;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// d/dh <upstream, f(x + h direction)> by central differences of fourth order, against <gradient, direction>; the
/// gradient of a constant input is zero.
void finite_differences(ConformResult& result, const Op& op, const Case& c, const GradientGraph& built,
                        const std::vector<HostTensor>& inputs, const std::vector<HostTensor>& gradients) {
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
  for (size_t w = 0; w < built.wanted.size(); ++w) check_input(built.wanted[w], gradients[w].data);
  for (size_t input : built.constant) check_input(input, std::vector<double>(inputs[input].data.size()));
}

void gradient_checks(Backend& backend, const Op& op, const Case& c,
                     const std::function<void(const ConformResult&)>& report) {
  ConformResult rule{.op = std::string(op.name), .what = describe(c), .check = "gradient rule", .detail = {}};
  ConformResult device{.op = rule.op, .what = rule.what, .check = "gradient", .detail = {}};
  try {
    GradientGraph built = build_gradient(op, c);
    const auto inputs = random_inputs(op, built.extended);
    auto reference_backend = make_reference_backend();
    auto reference = reference_backend->compile(built.graph, reference_backend->make_store({}));
    write_inputs(*reference, built.extended, inputs);
    reference->run();
    std::vector<HostTensor> gradients;
    std::vector<std::pair<std::string, HostTensor>> expected;
    for (size_t w = 0; w < built.wanted.size(); ++w) {
      const std::string name = fmt::format("gradient{}", w);
      HostTensor tensor(built.graph.info(built.graph.find(name)).type);
      const auto data = reference->read(name);
      tensor.data.assign(data.begin(), data.end());
      gradients.push_back(tensor);
      expected.emplace_back(name, std::move(tensor));
    }
    finite_differences(rule, op, c, built, inputs, gradients);
    auto program = backend.compile(built.graph, backend.make_store({}), {.guard_bytes = 256});
    // Gradients sum over what the forward pass spreads: allow for the longest possible sum.
    Case longest = built.extended;
    for (const CaseInput& input : c.inputs)
      if (!input.absent) longest.reduction = std::max(longest.reduction, input.type.elements());
    run_and_compare(device, *program, longest, inputs, expected);
  } catch (const Error& error) {
    fail_with(device, error.what());
  }
  report(rule);
  report(device);
}

}  // namespace

double tolerance(DType dtype, int64_t reduction) {
  if (dtype == DType::i32) return 0;
  // The last digit of a 16-bit float is the driver's to round.
  const double rounding = dtype == DType::f16 ? 0x1p-10 : dtype == DType::bf16 ? 0x1p-7 : 0;
  return rounding + 4e-6 + 3e-7 * std::sqrt(static_cast<double>(reduction));
}

HostTensor random_tensor(const CaseInput& input, uint64_t seed) {
  // Only the generator's raw output is used: distributions differ between standard libraries.
  std::mt19937_64 generator(seed);
  HostTensor tensor(input.type);
  for (double& value : tensor.data) {
    const double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    value = input.type.dtype == DType::i32 ? std::floor(input.low + unit * (input.high - input.low + 1))
                                           : round_to(input.type.dtype, input.low + unit * (input.high - input.low));
  }
  return tensor;
}

void conform(Backend& backend, const ConformOptions& options, const std::function<void(const ConformResult&)>& report) {
  if (!options.op.empty() && !find_op(options.op))
    throw UsageError(fmt::format("there is no op '{}'; `vkformer ops` lists them", options.op));
  std::regex pattern;
  try {
    pattern = std::regex(options.pattern);
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("the pattern '{}' is not a regular expression: {}", options.pattern, error.what()));
  }
  for (const Op* op : all_ops()) {
    if (!options.op.empty() && op->name != options.op) continue;
    if (!op->cases) continue;
    for (const Case& c : op->cases()) {
      if (!std::regex_search(fmt::format("{} {}", op->name, describe(c)), pattern)) continue;
      std::vector<std::string_view> candidates{""};
      if (op->candidates) {
        candidates = op->candidates(build(*op, c).graph.nodes().front(), backend.facts());
        if (candidates.empty())
          report({.op = std::string(op->name),
                  .what = describe(c),
                  .check = "forward",
                  .verdict = ConformResult::Verdict::not_supported,
                  .detail = "no kernel for this device"});
      }
      for (std::string_view candidate : candidates) report(forward_check(backend, *op, c, candidate));
      if (options.gradients && op->gradient) gradient_checks(backend, *op, c, report);
    }
  }
}

}  // namespace vkformer
