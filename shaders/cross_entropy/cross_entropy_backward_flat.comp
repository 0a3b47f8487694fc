#version 460
// variant f16: -DHALF=1
// variant bf16: -DHALF=2
// cross_entropy_backward for 16-bit floats, in order of memory whatever the rows: rows of an odd number of columns share
// words, which one invocation must write. May run in place.
#extension GL_GOOGLE_include_directive : require
#include "shaders/common/stream.glsl"
#include "shaders/cross_entropy/cross_entropy.args.h"

layout(constant_id = 1) const uint COLUMNS = 1;

PUSH(CrossEntropyBackwardFlatArgs);

float scale, shared_part, target_part;

// What the elements of a row need.
struct Row {
  uint end;     // of its classes
  uint target;  // its element; none's where the row is ignored
  float log_sum_exp;
  float scale;
};

Row row_at(uint row) {
  const int target = args.targets.v[row];
  const bool counted = counts(target, args.classes, args.ignore_index);
  const uint start = row * COLUMNS;
  if (args.positions > 0) scale = -args.upstream.v[row / args.positions];
  return Row(start + args.classes, counted ? start + uint(target) : 0xffffffffu, args.log_sum_exp.v[row],
             counted ? scale : 0.0);
}

float gradient(Row row, uint element, float x) {
  const float hot = element == row.target ? target_part : 0.0;
  const bool counted = row.scale != 0 && element < row.end;
  return counted ? (exp(x - row.log_sum_exp) - hot - shared_part) * row.scale : 0.0;
}

void process(uint i, bool whole) {
  const uint first = whole ? 4 * i : i, last = min(first + (whole ? 3 : 1), args.stream.elements - 1);
  const vec4 x = load_reals(args.logits, i, whole);
  uint row = first / COLUMNS, end = (row + 1) * COLUMNS;
  Row current = row_at(row);
  vec4 y;
  [[unroll]] for (uint k = 0; k < 4; ++k) {
    const uint element = min(first + k, last);
    if (element == end) {
      current = row_at(++row);
      end += COLUMNS;
    }
    y[k] = gradient(current, element, x[k]);
  }
  store_reals(args.dlogits, i, whole, y);
}

void main() {
  if (args.positions == 0) scale = args.upstream.v[0] / args.count.v[0];
  target_part = 1.0 - args.label_smoothing;
  shared_part = args.label_smoothing / float(args.classes);
  STREAM(process)
}
