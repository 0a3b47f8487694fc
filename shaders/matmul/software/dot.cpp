#include "shaders/matmul/software/dot.h"

#include "shaders/matmul/software/matmul_dot.args.h"
#include "shaders/matmul/software/shared_loads.h"

namespace vkformer {

namespace {

/// Multiply-adds of vectors that matmul_dot may unroll: 4096 compile for eight seconds, once.
constexpr int64_t most_unrolled = 4096;

/// Values of k at a time: a divisor of K, or all where loops take away what lanes share. 0: there is no such.
int64_t dot_block(const MatmulProblem& p, const DeviceFacts& facts) {
  const int64_t subgroup = facts.subgroup_size;
  if (p.k % subgroup != 0) return 0;
  if (!uniform_loads_are_scalar(facts)) return p.m * p.k <= most_unrolled ? p.k : 0;
  int64_t block = 256;
  while (p.k % block != 0) block /= 2;
  return block;
}

}  // namespace

bool dot_legal(const MatmulProblem& p, const DeviceFacts& facts) {
  return vectors_legal(p, facts) && !is_blocks(p.b_type) && p.batch == 1 && p.m <= 4 && p.transpose_b &&
         dot_block(p, facts) > 0;
}

void record_dot(Recorder& recorder, const MatmulWork& work, const DotNeighbours& neighbours) {
  const DeviceFacts& facts = recorder.device();
  const MatmulProblem& p = work.p;
  const MatmulArgs& args = work.args;
  const MatmulDotArgs dot{.a = args.a,
                          .b = args.b,
                          .y = args.y,
                          .pre_activation = args.pre_activation,
                          .bias = args.bias,
                          .residual = args.residual,
                          .gain = neighbours.gain,
                          .n = args.n,
                          .k = args.k,
                          .scale = args.scale,
                          .gain_offset = neighbours.gain_offset,
                          .epsilon = neighbours.epsilon,
                          .flags = args.flags,
                          .digits = {0, 1, 2, 3, 4, 5, 6, 7}};
  const uint32_t groups = groups_for(p.n, facts.subgroup_size), block = static_cast<uint32_t>(dot_block(p, facts));
  recorder.dispatch({.kernel = "matmul_dot",
                     .variant = name_of(p.b_type),
                     .constants = {work.activation, facts.subgroup_size, args.m, block, block == args.k,
                                   digits_for(groups), neighbours.gain != 0, neighbours.gated},
                     .groups = spread_groups(facts, groups),
                     .subgroup_size = required_subgroup(facts)},
                    dot);
}

}  // namespace vkformer
