#include "shaders/matmul/matmul_kernels.h"

#include <algorithm>
#include <array>

#include "shaders/common/block_variants.h"

namespace vkformer {

namespace {

constexpr int64_t float_bytes = size_of(DType::f32);

std::vector<const MatmulKernel*> all_kernels() {
  std::vector<const MatmulKernel*> kernels;
  for (const auto& room : {matmul_software_kernels(), matmul_gpu_kernels()})
    for (const MatmulKernel& kernel : room) kernels.push_back(&kernel);
  return kernels;
}

const MatmulKernel& kernel_named(std::string_view candidate) {
  for (const MatmulKernel* kernel : all_kernels())
    if (kernel->name == candidate) return *kernel;
  fail("[matmul] there is no kernel '{}'", candidate);
}

bool aligned(uint64_t address, int64_t row, int64_t bytes) {
  return static_cast<int64_t>(address) % bytes == 0 && row % bytes == 0;
}

SplitRanges ranges_of(const MatmulKernel& kernel, const MatmulProblem& p, const DeviceFacts& facts) {
  return kernel.ranges ? kernel.ranges(p, facts) : SplitRanges{.count = 1, .length = p.k};
}

/// The arguments of a kernel that computes all of the node.
MatmulWork whole_work(const Recorder& recorder, const Node& node, const MatmulProblem& p) {
  const auto in = [&](size_t i) { return node.has_input(i) ? recorder.address(node.inputs[i]) : 0; };
  const auto out = [&](size_t i) { return i < node.outputs.size() ? recorder.address(node.outputs[i]) : 0; };
  MatmulWork work{.p = p,
                  .args = {.a = in(0),
                           .b = in(1),
                           .a_pairs = in(0),
                           .b_pairs = in(1),
                           .a_quads = in(0),
                           .b_quads = in(1),
                           .y = out(0),
                           .pre_activation = out(1),
                           .bias = in(2),
                           .residual = in(3),
                           .m = static_cast<uint>(p.m),
                           .n = static_cast<uint>(p.n),
                           .k = static_cast<uint>(p.k),
                           .batch = static_cast<uint>(p.batch),
                           .splits = 1,
                           .k_per_split = static_cast<uint>(p.k),
                           .scale = p.scale,
                           .flags = 0},
                  .activation = static_cast<uint32_t>(p.activation)};
  MatmulArgs& args = work.args;
  if (args.y == 0) {  // somebody wants only the value before the activation
    args.y = args.pre_activation;
    args.pre_activation = args.residual = 0;
    work.activation = static_cast<uint32_t>(Activation::none);
  }
  args.y_quads = args.y;
  args.residual_quads = args.residual;
  args.flags = (args.bias ? MATMUL_BIAS : 0) | (args.pre_activation ? MATMUL_PRE_ACTIVATION : 0) |
               (args.residual ? MATMUL_RESIDUAL : 0) | (p.saturated ? MATMUL_SATURATED : 0);
  return work;
}

void record_split(Recorder& recorder, const MatmulKernel& kernel, const MatmulWork& work, SplitRanges ranges_of_k) {
  const int64_t splits = ranges_of_k.count;
  const MatmulProblem& p = work.p;
  const DeviceFacts& facts = recorder.device();
  const int64_t elements = p.batch * p.m * p.n;
  const Region partial = recorder.scratch_region(0, static_cast<uint64_t>(splits * elements * float_bytes));
  const MatmulProblem sums = sums_of(p);
  MatmulWork ranges{sums, work.args, static_cast<uint32_t>(Activation::none)};
  ranges.args.y = ranges.args.y_quads = partial.address;
  ranges.args.splits = static_cast<uint>(splits);
  ranges.args.k_per_split = static_cast<uint>(ranges_of_k.length);
  ranges.args.scale = 1;
  ranges.args.flags = 0;
  Launch launch = kernel.launch(facts, ranges);
  launch.writes = {partial};
  recorder.dispatch(launch, ranges.args);
  MatmulArgs sum = work.args;
  sum.a = sum.a_quads = partial.address;
  sum.splits = static_cast<uint>(splits);
  const bool quads = !facts.is_cpu() && work.y_aligned(4);
  const int64_t at_once = quads ? 4 : is_half(p.y_type) ? 2 : 1;  // sums of an invocation
  recorder.dispatch({.kernel = "matmul_reduce",
                     .variant = is_half(p.y_type) ? variant_of(p) : "f32",
                     .constants = {work.activation, quads},
                     .groups = spread_groups(facts, groups_for(elements, 64 * at_once)),
                     .cost = Cost{.bytes = static_cast<double>((splits + 1) * elements * float_bytes),
                                  .flops = static_cast<double>(splits * elements)}},
                    sum);
}

}  // namespace

int64_t tile_count(const MatmulProblem& p, int64_t rows, int64_t columns) {
  return p.batch * groups_for(p.m, rows) * groups_for(p.n, columns);
}

SplitRanges even_ranges(int64_t k, int64_t count, int64_t step) {
  const int64_t length = (groups_for(k, count) + step - 1) / step * step;
  return {.count = groups_for(k, length), .length = length};
}

SplitRanges ranges_to_fill(const MatmulProblem& p, int64_t workgroups, int64_t tiles) {
  return even_ranges(p.k, std::clamp<int64_t>(workgroups / tiles, 2, std::max<int64_t>(p.k / 128, 2)));
}

bool MatmulWork::a_aligned(int64_t elements) const {
  const int64_t size = size_of(p.a_type);
  return aligned(args.a, (p.transpose_a ? p.m : p.k) * size, elements * size);
}

bool MatmulWork::b_aligned(int64_t elements) const {
  if (is_blocks(p.b_type)) return args.b % 16 == 0;
  const int64_t size = size_of(p.b_type);
  return aligned(args.b, (p.transpose_b ? p.k : p.n) * size, elements * size);
}

bool MatmulWork::y_aligned(int64_t elements) const {
  const int64_t size = size_of(p.y_type);
  return std::ranges::all_of(std::array{args.y, args.pre_activation, args.residual},
                             [&](uint64_t address) { return aligned(address, p.n * size, elements * size); });
}

std::string_view variant_of(const MatmulProblem& p) {
  if (is_blocks(p.b_type)) return variant_of_blocks(p.b_type);
  if (is_half(p.y_type)) return p.y_type == DType::f16 ? "f16_y" : "bf16_y";
  if (is_half(p.a_type)) return name_of(p.a_type);
  return p.b_type == DType::f16 ? "f32_f16" : p.b_type == DType::bf16 ? "f32_bf16" : "f32";
}

std::vector<std::string_view> matmul_candidates(const Node& node, const DeviceFacts& facts) {
  const MatmulProblem p = matmul_problem(node);
  std::vector<std::string_view> preferred, others;
  for (const MatmulKernel* kernel : all_kernels())
    if ((kernel->half_results || !is_half(p.y_type)) && (kernel->blocks || !is_blocks(p.b_type)) &&
        kernel->legal(p, facts))
      (kernel->first(p, facts) ? preferred : others).push_back(kernel->name);
  preferred.insert(preferred.end(), others.rbegin(), others.rend());
  return preferred;
}

KernelRoom matmul_room(std::string_view candidate) { return kernel_named(candidate).room; }

int64_t matmul_scratch(const Node& node, const DeviceFacts& facts, std::string_view candidate) {
  const MatmulProblem p = matmul_problem(node);
  const MatmulKernel& kernel = kernel_named(candidate);
  if (kernel.scratch) return kernel.scratch(p, facts);
  const int64_t splits = ranges_of(kernel, p, facts).count;
  return splits > 1 ? splits * p.batch * p.m * p.n * float_bytes : 0;
}

void record_matmul(Recorder& recorder, const Node& node) {
  const MatmulProblem p = matmul_problem(node);
  const MatmulWork work = whole_work(recorder, node, p);
  if (work.args.y == 0) return;
  const MatmulKernel& kernel = kernel_named(recorder.candidate());
  const SplitRanges ranges = ranges_of(kernel, p, recorder.device());
  for (int64_t elements : {p.m * p.k, p.n * p.k, p.m * p.n * ranges.count})
    check(p.batch * elements < int64_t{1} << 31,
          "[matmul] one operand has {} elements; kernels address at most 2^31 - 1", p.batch * elements);
  if (kernel.record) return kernel.record(recorder, work);
  if (ranges.count > 1) return record_split(recorder, kernel, work, ranges);
  recorder.dispatch(kernel.launch(recorder.device(), work), work.args);
}

}  // namespace vkformer
