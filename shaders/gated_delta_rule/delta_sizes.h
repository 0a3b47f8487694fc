#pragma once
// What the kernels of the gated delta rule have in common on the host: sizes out of nodes, launches of lines.

#include "runtime/recorder.h"
#include "shaders/gated_delta_rule/gated_delta_rule.args.h"
#include "shaders/gated_delta_rule/gated_delta_rule.h"

namespace vkformer {

/// What a kernel of delta_lines.glsl walks: `lines` lines of `columns` values in each head of each row. It stages
/// `staged` of so many values a position, and keeps `kept` numbers of each line; `times` as many workgroups along x.
struct DeltaLines {
  int64_t lines, columns, staged, kept;
  uint32_t times = 1;
};

/// The heads that the attributes of a node name, and how many rows and positions they have.
struct DeltaProblem {
  DeltaHeads heads;
  int64_t batches, positions;

  /// Of x as input `x` of the node.
  explicit DeltaProblem(const Node& node, size_t x = 0);
  static Attributes attributes(const DeltaHeads& heads);

  /// `texts`, `skip`: whether there are such inputs.
  DeltaSizes sizes(bool texts, bool skip) const;
  int64_t rows() const { return batches * positions; }
  Shape y() const { return {batches, positions, heads.values()}; }
  DeltaLines value_lines(int64_t kept) const {
    return {.lines = heads.value_width, .columns = heads.key_width, .staged = 2, .kept = kept};
  }
};

/// Checks x, gates, texts and skip, inputs `x` to `x + 3` of the node.
void check_delta_inputs(const Node& node, size_t x);

/// Where input i lies, texts or skip; where it is absent, the gates, input `gates`, which nobody reads as that: drivers
/// (Mesa 26's lavapipe) load what all lanes share before they look whether it is wanted.
Region delta_optional(const Recorder& recorder, const Node& node, size_t i, size_t gates);

std::vector<std::string_view> delta_candidates(const Node& node, const DeviceFacts& facts);

/// The first columns of head h's query, key and value in a row of x, for references.
struct DeltaColumns {
  int64_t query, key, value;
};
DeltaColumns delta_columns(const DeltaHeads& heads, int64_t h);

/// The launch of a kernel of delta_lines.glsl.
Launch delta_launch(const Recorder& recorder, std::string_view kernel, const DeltaProblem& problem,
                    const DeltaLines& lines, std::string_view variant = "");

/// The gradient of gated_delta_rule(), and its op.
Values delta_gradient(Graph& graph, const Node& node, std::span<const Value> upstream);
extern const Op gated_delta_rule_backward_op;
/// Conformance problems of both.
struct DeltaCase {
  int64_t batches, positions;
  DeltaHeads heads;
  bool texts = false, skip = false;
};
std::span<const DeltaCase> delta_cases();
/// A case of one with x, gates, texts and skip; `reduction`: see Case. Sums through shared memory are proved by those
/// of narrow heads, widths by the others.
Case delta_case(const DeltaCase& problem, int64_t reduction);

}  // namespace vkformer
