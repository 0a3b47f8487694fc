// gated_delta_rule_backward: upstream, x, gates, texts, skip -> dx, dgates, each position's part of dskip
#include <algorithm>
#include <cmath>

#include "runtime/store_layout.h"
#include "shaders/column_sum/column_sum.h"
#include "shaders/gated_delta_rule/delta_sizes.h"

namespace vkformer {

namespace {

/// Parts of the scratch: of [B, T, H Dv] twice, [B, T, H Dk] twice, and once more where what is written is corrected,
/// [B, T, H], and of the states that are kept, behind every delta_span positions but the last, [B, kept, H Dv, Dk] and
/// [B, kept, H Dv].
struct Parts {
  int64_t values, keys, reads, ends, kept, states, products;

  explicit Parts(const DeltaProblem& p)
      : values(align_part(4 * p.rows() * p.heads.values())),
        keys(align_part(4 * p.rows() * p.heads.heads * p.heads.key_width)),
        reads(p.heads.corrects ? keys : 0),
        ends(align_part(4 * p.rows() * p.heads.heads)),
        kept((p.positions - 1) / delta_span),
        states(align_part(4 * p.batches * kept * p.heads.values() * p.heads.key_width)),
        products(align_part(4 * p.batches * kept * p.heads.values())) {}
  int64_t all() const { return 2 * values + 2 * keys + reads + ends + states + products; }
};

Types infer(const Node& node) {
  check_delta_inputs(node, 1);
  const DeltaProblem p(node, 1);
  const Shape y = p.y();
  check(node.input_types[0] == TensorType{y}, "[gated_delta_rule_backward] upstream is {}, needs f32 {}",
        node.in(0).to_string(), y.to_string());
  check(Parts(p).all() / 4 < int64_t{1} << 32,
        "[gated_delta_rule_backward] x is {}; kernels address at most 2^32 - 1 floats", node.in(1).to_string());
  return {node.input_types[1], node.input_types[2], {Shape{p.batches, p.positions, p.heads.heads}}};
}

int64_t scratch(const Node& node, const DeviceFacts&, std::string_view) { return Parts(DeltaProblem(node, 1)).all(); }

void record(Recorder& recorder, const Node& node) {
  const DeltaProblem p(node, 1);
  const Parts parts(p);
  const auto input = [&](size_t i) { return recorder.region(node.inputs[i]); };
  const Region upstream = input(0), x = input(1), gates = input(2), texts = delta_optional(recorder, node, 3, 2),
               skip = delta_optional(recorder, node, 4, 2);
  const Region dx = recorder.region(node.outputs[0]), dgates = recorder.region(node.outputs[1]),
               dskip = recorder.region(node.outputs[2]);
  int64_t taken = 0;
  const auto part = [&](int64_t bytes) {
    taken += bytes;
    return recorder.scratch_region(static_cast<uint64_t>(taken - bytes), static_cast<uint64_t>(bytes));
  };
  const Region corrections = part(parts.values), dwritten = part(parts.values), dq = part(parts.keys),
               dk_write = part(parts.keys), dk_read = part(parts.reads), ends = part(parts.ends),
               states = part(parts.states), products = part(parts.products);
  const DeltaSizes sizes = p.sizes(node.has_input(3), node.has_input(4));
  const int64_t Dk = p.heads.key_width, Dv = p.heads.value_width;

  Launch launch = delta_launch(recorder, "gated_delta_rule", p, p.value_lines(2));
  launch.reads = {x, gates, texts, skip};
  launch.writes = {corrections, states};
  recorder.dispatch(launch, DeltaRuleArgs{.x = x.address,
                                          .gates = gates.address,
                                          .texts = texts.address,
                                          .skip = skip.address,
                                          .corrections = corrections.address,
                                          .state = states.address,
                                          .sizes = sizes,
                                          .kept = static_cast<uint>(parts.kept),
                                          .outputs = 2 | (parts.kept > 0 ? 4u : 0u)});

  launch = delta_launch(recorder, "delta_values_backward", p, p.value_lines(1));
  launch.reads = {x, gates, texts, upstream, states};
  launch.writes = {dwritten, products};
  recorder.dispatch(launch, DeltaValuesBackwardArgs{.x = x.address,
                                                    .gates = gates.address,
                                                    .texts = texts.address,
                                                    .upstream = upstream.address,
                                                    .dwritten = dwritten.address,
                                                    .states = states.address,
                                                    .products = products.address,
                                                    .sizes = sizes,
                                                    .kept = static_cast<uint>(parts.kept)});

  launch = delta_launch(recorder, "delta_keys_backward", p,
                        {.lines = Dk, .columns = Dv, .staged = 3, .kept = 2, .times = 2});
  launch.reads = {x, gates, texts, upstream, corrections, dwritten};
  launch.writes = {dq, dk_read, dk_write};
  recorder.dispatch(launch, DeltaKeysBackwardArgs{.x = x.address,
                                                  .gates = gates.address,
                                                  .texts = texts.address,
                                                  .upstream = upstream.address,
                                                  .corrections = corrections.address,
                                                  .dwritten = dwritten.address,
                                                  .dq = dq.address,
                                                  .dk_read = dk_read.address,
                                                  .dk_write = dk_write.address,
                                                  .sizes = sizes});

  const auto items = static_cast<uint64_t>(p.rows() * p.heads.key_heads);
  launch = {.kernel = "delta_join",
            .constants = {recorder.device().largest_group(64)},
            .groups = spread_groups(recorder.device(), items),
            .reads = {x, gates, texts, upstream, skip, corrections, dwritten, dq, dk_read, dk_write},
            .writes = {dx, dgates, dskip, ends}};
  recorder.dispatch(launch, DeltaJoinArgs{.x = x.address,
                                          .gates = gates.address,
                                          .texts = texts.address,
                                          .upstream = upstream.address,
                                          .skip = skip.address,
                                          .scratch = recorder.scratch(),
                                          .dx = dx.address,
                                          .dgates = dgates.address,
                                          .dskip = dskip.address,
                                          .sizes = sizes,
                                          .values_part = static_cast<uint>(parts.values / 4),
                                          .keys_part = static_cast<uint>(parts.keys / 4),
                                          .rows = static_cast<uint>(items),
                                          .outputs = (dx.address ? 1u : 0u) | (dgates.address ? 2u : 0u) |
                                                     (dskip.address ? 4u : 0u)});
  if (!dgates.address) return;
  launch = {.kernel = "delta_decay_backward",
            .constants = {recorder.device().largest_group(64)},
            .groups = {1, static_cast<uint32_t>(p.heads.heads), static_cast<uint32_t>(p.batches)},
            .reads = {gates, texts, ends, products},
            .writes = {dgates},
            .apart = true};
  recorder.dispatch(launch, DeltaDecayBackwardArgs{.gates = gates.address,
                                                   .texts = texts.address,
                                                   .ends = ends.address,
                                                   .products = products.address,
                                                   .dgates = dgates.address,
                                                   .sizes = sizes,
                                                   .kept = static_cast<uint>(parts.kept)});
}

/// Straight through the adjoint of each step, over states that are kept.
void reference(const Node& node, Inputs in, Outputs out) {
  const DeltaProblem p(node, 1);
  const HostTensor &upstream = *in[0], &x = *in[1], &gates = *in[2];
  const DeltaHeads& heads = p.heads;
  const int64_t Dk = heads.key_width, Dv = heads.value_width, T = p.positions, size = Dk * Dv;
  for (int64_t b = 0; b < p.batches; ++b)
    for (int64_t h = 0; h < heads.heads; ++h) {
      const auto columns = delta_columns(heads, h);
      const int64_t query = columns.query, key = columns.key, value = columns.value;
      const auto text = [&](int64_t t) { return node.has_input(3) ? (*in[3])[b * T + t] : 1; };
      const auto begins = [&](int64_t t) { return t == 0 || text(t) != text(t - 1); };
      // Before each position and behind it, [Dk, Dv]. What the corrections are is computed anew.
      std::vector<std::vector<double>> before(static_cast<size_t>(T)), behind(static_cast<size_t>(T));
      std::vector<double> state(static_cast<size_t>(size), 0);
      std::vector<std::vector<double>> corrections(static_cast<size_t>(T),
                                                   std::vector<double>(static_cast<size_t>(Dv)));
      for (int64_t t = 0; t < T; ++t) {
        const auto at = static_cast<size_t>(t);
        const int64_t row = b * T + t, from = row * heads.columns();
        if (begins(t) && text(t) != 0) std::ranges::fill(state, 0);
        before[at] = state;
        if (text(t) != 0) {
          const double beta = gates[2 * row * heads.heads + h],
                       decay = std::exp(gates[(2 * row + 1) * heads.heads + h]);
          for (int64_t j = 0; j < Dv; ++j) {
            double read = 0;
            for (int64_t i = 0; i < Dk; ++i) read += decay * state[static_cast<size_t>(i * Dv + j)] * x[from + key + i];
            corrections[at][static_cast<size_t>(j)] = x[from + value + j] - (heads.corrects ? read : 0);
          }
          for (int64_t i = 0; i < Dk; ++i)
            for (int64_t j = 0; j < Dv; ++j) {
              double& s = state[static_cast<size_t>(i * Dv + j)];
              s = decay * s + x[from + key + i] * beta * corrections[at][static_cast<size_t>(j)];
            }
        }
        behind[at] = state;
      }
      std::vector<double> dstate(static_cast<size_t>(size), 0);
      for (int64_t t = T; t-- > 0;) {
        if (text(t) == 0) continue;
        const auto at = static_cast<size_t>(t);
        const int64_t row = b * T + t, from = row * heads.columns();
        const double beta = gates[2 * row * heads.heads + h], decay = std::exp(gates[(2 * row + 1) * heads.heads + h]);
        std::vector<double> dread(static_cast<size_t>(Dv));
        for (int64_t i = 0; i < Dk; ++i)
          for (int64_t j = 0; j < Dv; ++j) {
            const double dy = upstream[row * heads.values() + h * Dv + j];
            out[0][from + query + i] += behind[at][static_cast<size_t>(i * Dv + j)] * dy;
            dstate[static_cast<size_t>(i * Dv + j)] += x[from + query + i] * dy;
          }
        for (int64_t j = 0; j < Dv; ++j) {
          double dwritten = 0;
          for (int64_t i = 0; i < Dk; ++i) {
            dwritten += dstate[static_cast<size_t>(i * Dv + j)] * x[from + key + i];
            out[0][from + key + i] +=
                dstate[static_cast<size_t>(i * Dv + j)] * beta * corrections[at][static_cast<size_t>(j)];
          }
          out[1][2 * row * heads.heads + h] += dwritten * corrections[at][static_cast<size_t>(j)];
          const double dy = upstream[row * heads.values() + h * Dv + j];
          out[0][from + value + j] += beta * dwritten + (node.has_input(4) ? (*in[4])[h] * dy : 0);
          out[2][row * heads.heads + h] += dy * x[from + value + j];
          dread[static_cast<size_t>(j)] = heads.corrects ? -beta * dwritten : 0;
        }
        double ddecay = 0;
        for (int64_t i = 0; i < Dk; ++i)
          for (int64_t j = 0; j < Dv; ++j) {
            const double old = before[at][static_cast<size_t>(i * Dv + j)];
            double& d = dstate[static_cast<size_t>(i * Dv + j)];
            out[0][from + key + i] += decay * old * dread[static_cast<size_t>(j)];
            d += x[from + key + i] * dread[static_cast<size_t>(j)];
            ddecay += d * old;
            d *= decay;
          }
        out[1][(2 * row + 1) * heads.heads + h] = decay * ddecay;
        if (begins(t)) std::ranges::fill(dstate, 0);
      }
    }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const DeltaCase& problem : delta_cases()) {
    Case next = delta_case(problem, (problem.heads.key_width + problem.heads.value_width) * problem.positions);
    next.inputs.insert(next.inputs.begin(),
                       {.type = {Shape{problem.batches, problem.positions, problem.heads.values()}}});
    list.push_back(next);
  }
  return list;
}

/// Each part of the scratch is written once and read once, at least.
Cost cost(const Node& node) {
  const DeltaProblem p(node, 1);
  const auto bytes =
      static_cast<double>(2 * (node.input_types[1].bytes() + node.input_types[0].bytes() + Parts(p).all()));
  return {.bytes = bytes,
          .flops = 24 * static_cast<double>(p.rows() * p.heads.heads * p.heads.key_width * p.heads.value_width)};
}

}  // namespace

const Op gated_delta_rule_backward_op = {.name = "gated_delta_rule_backward",
                                         .infer = infer,
                                         .record = record,
                                         .reference = reference,
                                         .cases = cases,
                                         .cost = cost,
                                         .candidates = delta_candidates,
                                         .scratch = scratch};

Values delta_gradient(Graph& graph, const Node& node, std::span<const Value> upstream) {
  const Values inputs = node.inputs;
  const Values found = graph.add(gated_delta_rule_backward_op,
                                 {upstream[0], inputs[0], inputs[1], inputs[2], inputs[3]}, node.attributes);
  return {found[0], found[1], {}, inputs[3] ? column_sum(graph, found[2]) : Value{}};
}

}  // namespace vkformer
