#include "runtime/conform/conform.h"

#include <algorithm>
#include <deque>
#include <regex>

#include "runtime/conform/checks.h"
#include "runtime/conform/compare.h"
#include "runtime/pipeline_log.h"
#include "runtime/storage.h"

namespace vkformer {

Graph forward_graph(const Op& op, const Case& c) {
  CaseGraph built = build(op, c);
  for (size_t o = 0; o < built.outputs.size(); ++o) built.graph.mark_output(built.outputs[o], output_name(o));
  return std::move(built.graph);
}

namespace {

using Report = std::function<void(const ConformResult&)>;

/// A check whose program is compiled, so that its pipelines are being made while the checks before it run.
struct Check {
  Case c;
  ConformResult result;
  std::unique_ptr<Program> program;         ///< nullptr: it could not be compiled
  std::function<void(Check&)> finish = {};  ///< compares and reports
};

ConformResult result_of(const Op& op, const Case& c, const char* check, std::string_view candidate = {}) {
  ConformResult result{.op = std::string(op.name), .what = describe(c), .check = check, .detail = {}};
  if (!candidate.empty()) result.what += fmt::format(" {{{}}}", candidate);
  return result;
}

std::regex regex_of(const std::string& text) {
  try {
    return std::regex(text);
  } catch (const std::regex_error& error) {
    throw UsageError(fmt::format("the pattern '{}' is not a regular expression: {}", text, error.what()));
  }
}

/// Calls `action`; what it throws fails the check.
void guarded(ConformResult& result, const std::function<void()>& action) {
  try {
    action();
  } catch (const DeviceLost& error) {
    result.device_lost = true;
    fail_with(result, error.what());
  } catch (const Error& error) {
    fail_with(result, error.what());
  }
}

/// Compares what the program of `own` gives with the reference's results.
void finish_forward(Check& own, const Op& op, const Report& report) {
  if (own.program)
    guarded(own.result, [&] {
      const auto inputs = random_inputs(op, own.c);
      NamedTensors expected;
      for (HostTensor& output : run_reference(build(op, own.c).graph.nodes().front(), inputs))
        expected.emplace_back(output_name(expected.size()), std::move(output));
      run_and_compare(own.result, *own.program, own.c, inputs, expected);
    });
  report(own.result);
}

Check forward_check(Backend& backend, const Op& op, const Case& c, std::string_view candidate, const Report& report) {
  Check check{.c = c, .result = result_of(op, c, "forward", candidate), .program = {}};
  guarded(check.result, [&] {
    check.program = backend.compile(forward_graph(op, c), backend.make_store({}),
                                    {.guard_bytes = 256, .candidate = std::string(candidate)});
  });
  check.finish = [&op, &report](Check& own) { finish_forward(own, op, report); };
  return check;
}

/// Throws Error where the plan gives the op's result a place of its own.
void check_overwrites(const Program& program, const Op& op) {
  const Node& node = program.graph().nodes().at(1);  // between two copies
  const Value operand = node.inputs[static_cast<size_t>(reusable_input(node))];
  const Place &from = program.plan().values[static_cast<size_t>(operand.id)],
              &to = program.plan().values[static_cast<size_t>(node.outputs.front().id)];
  check(from.area == to.area && from.block == to.block && from.offset == to.offset,
        "[{}] the plan does not let the result overwrite its operand", op.name);
}

/// Sentinels want a place for each tensor, so results that overwrite operands are proved without.
Check in_place_check(Backend& backend, const Op& op, const Case& c, Graph graph, std::string_view candidate,
                     const Report& report) {
  Check check{.c = c, .result = result_of(op, c, "in place", candidate), .program = {}};
  guarded(check.result, [&] {
    check.program = backend.compile(std::move(graph), backend.make_store({}), {.candidate = std::string(candidate)});
    check_overwrites(*check.program, op);
  });
  check.finish = [&op, &report](Check& own) { finish_forward(own, op, report); };
  return check;
}

/// The gradients by the reference's gradient rule.
NamedTensors reference_gradients(const GradientGraph& built, const std::vector<HostTensor>& inputs) {
  const auto backend = make_reference_backend();
  const auto reference = backend->compile(built.graph, backend->make_store({}));
  write_inputs(*reference, built.extended, inputs);
  reference->run();
  NamedTensors gradients;
  for (size_t w = 0; w < built.wanted.size(); ++w) {
    const std::string name = fmt::format("gradient{}", w);
    HostTensor tensor(built.graph.info(built.graph.find(name)).type);
    const auto data = reference->read(name);
    tensor.data.assign(data.begin(), data.end());
    gradients.emplace_back(name, std::move(tensor));
  }
  return gradients;
}

Check gradient_check(Backend& backend, const Op& op, const Case& c, const Report& report) {
  Check check{.c = c, .result = result_of(op, c, "gradient"), .program = {}};
  auto built = std::make_shared<GradientGraph>();
  guarded(check.result, [&] {
    *built = build_gradient(op, c);
    check.program = backend.compile(built->graph, backend.make_store({}), {.guard_bytes = 256});
  });
  check.finish = [&op, &report, built](Check& own) {
    if (built->extended.inputs.empty()) return report(own.result);  // there is no rule to check
    ConformResult rule = result_of(op, own.c, "gradient rule");
    const auto inputs = random_inputs(op, built->extended);
    NamedTensors expected;
    guarded(rule, [&] {
      expected = reference_gradients(*built, inputs);
      finite_differences(rule, op, own.c, *built, inputs, expected);
    });
    if (own.program)
      guarded(own.result, [&] {
        // Gradients sum over what the forward pass spreads: allow for the longest possible sum.
        Case longest = built->extended;
        for (const CaseInput& input : own.c.inputs)
          if (!input.absent) longest.reduction = std::max(longest.reduction, input.type.elements());
        run_and_compare(own.result, *own.program, longest, inputs, expected);
      });
    report(rule);
    report(own.result);
  };
  return check;
}

}  // namespace

std::vector<std::string_view> kernels_of(const Op& op, const Case& c, const DeviceFacts& facts,
                                         const ConformOptions& options) {
  std::vector<std::string_view> names = {""};
  if (op.candidates) names = op.candidates(build(op, c).graph.nodes().front(), facts);
  if (!options.kernel.empty()) {
    const std::regex wanted = regex_of(options.kernel);
    std::erase_if(names, [&](std::string_view name) { return !std::regex_search(std::string(name), wanted); });
    return names;
  }
  if (!op.candidates || options.all || !op.room || names.empty()) return names;
  // Kernels of no room are proved with those for CPUs.
  const auto elsewhere = [&](std::string_view name) {
    return (op.room(name) == KernelRoom::gpu) == facts.is_cpu() || std::ranges::count(c.spared, name) > 0;
  };
  names.erase(std::remove_if(names.begin() + 1, names.end(), elsewhere), names.end());
  return names;
}

void for_each_case(const ConformOptions& options, const std::function<void(const Op&, const Case&)>& take) {
  if (!options.op.empty() && !find_op(options.op))
    throw UsageError(fmt::format("there is no op '{}'; `vkformer ops` lists them", options.op));
  const std::regex pattern = regex_of(options.pattern);
  for (const Op* op : all_ops())
    if (op->cases && (options.op.empty() || op->name == options.op))
      for (const Case& c : op->cases())
        if (std::regex_search(fmt::format("{} {}", op->name, describe(c)), pattern)) take(*op, c);
}

ConformResult check_forward(Backend& backend, const Op& op, const Case& c, std::string_view candidate) {
  ConformResult result;
  const Report keep = [&](const ConformResult& got) { result = got; };
  Check check = forward_check(backend, op, c, candidate, keep);
  check.finish(check);
  return result;
}

void conform(Backend& backend, const ConformOptions& options, const Report& report) {
  constexpr size_t window = 32;  // so many checks are compiled ahead, by all cores
  std::deque<Check> pending;
  const auto finish_until = [&](size_t left) {
    for (; pending.size() > left; pending.pop_front()) pending.front().finish(pending.front());
  };
  const auto begin = [&](const std::function<Check()>& compile) {
    const size_t known = pipelines_logged();
    Check check = compile();
    if (options.distinct && check.program && pipelines_logged() == known) return;
    pending.push_back(std::move(check));
    finish_until(window);
  };
  for_each_case(options, [&](const Op& op, const Case& c) {
    const std::vector<std::string_view> kernels = kernels_of(op, c, backend.facts(), options);
    if (kernels.empty()) {
      if (!options.kernel.empty()) return;  // the case has nothing to do with it
      ConformResult result = result_of(op, c, "forward");
      result.verdict = ConformResult::Verdict::not_supported;
      result.detail = "no kernel for this device";
      report(result);
    }
    for (std::string_view kernel : kernels) {
      begin([&] { return forward_check(backend, op, c, kernel, report); });
      if (auto graph = in_place_graph(op, c))
        begin([&] { return in_place_check(backend, op, c, std::move(*graph), kernel, report); });
    }
    if (options.gradients && op.gradient) begin([&] { return gradient_check(backend, op, c, report); });
  });
  finish_until(0);
}

void make_case_pipelines(Backend& backend, const ConformOptions& options) {
  for_each_case(options, [&](const Op& op, const Case& c) {
    for (std::string_view kernel : kernels_of(op, c, backend.facts(), options))
      backend.make_pipelines(forward_graph(op, c), {}, {.candidate = std::string(kernel)});
    if (options.gradients && op.gradient) backend.make_pipelines(build_gradient(op, c).graph, {});
  });
}

}  // namespace vkformer
