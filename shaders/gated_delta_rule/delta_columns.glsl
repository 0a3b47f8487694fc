#ifndef VKFORMER_DELTA_COLUMNS_GLSL
#define VKFORMER_DELTA_COLUMNS_GLSL
// Where a head's columns are in a row of x, and which positions count.
#include "shaders/gated_delta_rule/gated_delta_rule.args.h"

bool rules(DeltaSizes sizes, uint rule) { return (sizes.rules & rule) != 0; }

uint x_columns(DeltaSizes sizes) {
  return 2 * sizes.key_heads * sizes.key_width + sizes.heads * sizes.value_width;
}
uint query_column(DeltaSizes sizes, uint key_head) {
  const uint before = rules(sizes, delta_values_first)
                          ? sizes.heads * sizes.value_width + sizes.key_heads * sizes.key_width : 0;
  return before + key_head * sizes.key_width;
}
uint key_column(DeltaSizes sizes, uint key_head) {
  const uint before = rules(sizes, delta_values_first) ? sizes.heads * sizes.value_width
                                                       : sizes.key_heads * sizes.key_width;
  return before + key_head * sizes.key_width;
}
uint value_column(DeltaSizes sizes, uint head) {
  const uint before = rules(sizes, delta_values_first) ? 0 : 2 * sizes.key_heads * sizes.key_width;
  return before + head * sizes.value_width;
}
uint key_head_of(DeltaSizes sizes, uint head) { return head / (sizes.heads / sizes.key_heads); }

bool is_live(DeltaSizes sizes, Ints texts, uint row) {
  return !rules(sizes, delta_has_texts) || texts.v[row] != 0;
}
#endif
