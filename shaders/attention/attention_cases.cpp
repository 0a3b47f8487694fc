#include <algorithm>
#include <cmath>

#include "shaders/attention/attention_problem.h"

namespace vkformer {

namespace {

/// One shape, from which the forward and the backward case are made.
struct Setting {
  int64_t B = 1, T = 1, S = 1, heads = 1, kv_heads = 1, D = 1, Dv = 1;
  enum class Layout { separate, packed, packed_kv } layout = Layout::separate;
  int64_t margin = 0;  ///< columns that belong to nobody, before q, k and v
  bool causal = true;
  bool with_position = false;
  double low_position = 0, high_position = 0;
  double dropout = 0;
  int64_t masks = 0, mask_rows = 0;  ///< shape of the mask; 0: none
  double mask_high = 1;              ///< 0: it hides everything
  double size = 1;                   ///< q, k and v are in [-size, size]
  double scale = 0;                  ///< 0: 1 / sqrt(D)
};
using Layout = Setting::Layout;

std::vector<Setting> settings() {
  return {
      {.B = 2, .T = 19, .S = 19, .heads = 2, .kv_heads = 2, .D = 8, .Dv = 8, .layout = Layout::packed},
      {.T = 5, .S = 5, .heads = 3, .kv_heads = 3, .D = 7, .Dv = 7, .layout = Layout::packed, .margin = 1},
      {.T = 37, .S = 37, .heads = 1, .kv_heads = 1, .D = 64, .Dv = 64, .layout = Layout::packed},
      {.T = 70, .S = 70, .heads = 2, .kv_heads = 2, .D = 16, .Dv = 16, .layout = Layout::packed, .size = 4},
      {},
      {.T = 11, .S = 23, .heads = 2, .kv_heads = 2, .D = 24, .Dv = 24, .causal = false},
      {.B = 2,
       .T = 17,
       .S = 6,
       .heads = 2,
       .kv_heads = 2,
       .D = 8,
       .Dv = 4,
       .layout = Layout::packed_kv,
       .causal = false},
      {.T = 33, .S = 33, .heads = 4, .kv_heads = 2, .D = 16, .Dv = 12},
      {.T = 17, .S = 40, .heads = 3, .kv_heads = 1, .D = 37, .Dv = 5},
      {.T = 13, .S = 4, .heads = 2, .kv_heads = 1, .D = 6, .Dv = 6},  // the first queries see nothing
      {.T = 3, .S = 50, .heads = 2, .kv_heads = 2, .D = 64, .Dv = 64, .with_position = true, .high_position = 45},
      {.B = 2,
       .T = 2,
       .S = 70,
       .heads = 6,
       .kv_heads = 2,
       .D = 16,
       .Dv = 16,
       .with_position = true,
       .low_position = 31,
       .high_position = 68},
      {.T = 11,
       .S = 9,
       .heads = 1,
       .kv_heads = 1,
       .D = 4,
       .Dv = 4,
       .with_position = true,
       .low_position = -4,
       .high_position = -2},
      {.T = 5,
       .S = 9,
       .heads = 1,
       .kv_heads = 1,
       .D = 4,
       .Dv = 4,
       .with_position = true,
       .low_position = 60,
       .high_position = 70},
      {.S = 300, .heads = 2, .kv_heads = 2, .D = 32, .Dv = 32, .size = 3},
      {.T = 8, .S = 131, .heads = 2, .kv_heads = 1, .D = 10, .Dv = 130, .causal = false},
      {.B = 2,
       .T = 21,
       .S = 21,
       .heads = 2,
       .kv_heads = 2,
       .D = 16,
       .Dv = 16,
       .layout = Layout::packed,
       .dropout = 0.3},
      {.T = 9, .S = 13, .heads = 2, .kv_heads = 1, .D = 5, .Dv = 3, .causal = false, .dropout = 0.6},
      {.T = 20, .S = 20, .heads = 1, .kv_heads = 1, .D = 128, .Dv = 128, .layout = Layout::packed},
      {.T = 5, .S = 7, .heads = 1, .kv_heads = 1, .D = 256, .Dv = 256},
      {.T = 6, .S = 35, .heads = 1, .kv_heads = 1, .D = 8, .Dv = 8, .scale = 1},
      // Masks: small S hides whole batches, causal ones whole rows and the first keys of a row.
      {.B = 7, .T = 9, .S = 2, .heads = 2, .kv_heads = 1, .D = 6, .Dv = 4, .causal = false, .masks = 7, .mask_rows = 1},
      {.B = 3,
       .T = 37,
       .S = 37,
       .heads = 2,
       .kv_heads = 2,
       .D = 8,
       .Dv = 8,
       .layout = Layout::packed,
       .masks = 3,
       .mask_rows = 1},
      {.B = 2,
       .T = 70,
       .S = 70,
       .heads = 2,
       .kv_heads = 1,
       .D = 7,
       .Dv = 5,
       .causal = false,
       .masks = 2,
       .mask_rows = 70},
      {.B = 3,
       .T = 19,
       .S = 3,
       .heads = 2,
       .kv_heads = 2,
       .D = 4,
       .Dv = 4,
       .causal = false,
       .masks = 1,
       .mask_rows = 19},
      {.B = 2,
       .T = 41,
       .S = 53,
       .heads = 2,
       .kv_heads = 2,
       .D = 16,
       .Dv = 16,
       .dropout = 0.4,
       .masks = 1,
       .mask_rows = 41},
      {.B = 2,
       .T = 5,
       .S = 29,
       .heads = 2,
       .kv_heads = 1,
       .D = 8,
       .Dv = 8,
       .causal = false,
       .masks = 1,
       .mask_rows = 1},
      {.B = 2,
       .T = 3,
       .S = 257,
       .heads = 4,
       .kv_heads = 2,
       .D = 16,
       .Dv = 16,
       .with_position = true,
       .low_position = 150,
       .high_position = 254,
       .masks = 2,
       .mask_rows = 3},
      {.B = 11,
       .T = 1,
       .S = 129,
       .heads = 2,
       .kv_heads = 2,
       .D = 5,
       .Dv = 130,
       .causal = false,
       .masks = 11,
       .mask_rows = 1},
      {.B = 2,
       .T = 4,
       .S = 11,
       .heads = 1,
       .kv_heads = 1,
       .D = 4,
       .Dv = 4,
       .causal = false,
       .masks = 2,
       .mask_rows = 4,
       .mask_high = 0},
      {.T = 33,
       .S = 9,
       .heads = 1,
       .kv_heads = 1,
       .D = 4,
       .Dv = 4,
       .causal = false,
       .masks = 1,
       .mask_rows = 1,
       .mask_high = 0},
  };
}

enum class Of { attention, backward, weights };

Case make_case(const Setting& s, Of op) {
  const int64_t q_width = s.heads * s.D, k_width = s.kv_heads * s.D, v_width = s.kv_heads * s.Dv;
  const int64_t q_column = s.margin;
  const int64_t k_column = s.layout == Layout::packed ? q_column + q_width : s.margin;
  const int64_t v_column = s.layout == Layout::separate ? s.margin : k_column + k_width;
  const auto source = [&](int64_t rows, int64_t columns, bool present) {
    return CaseInput{.type = {{s.B, rows, columns}}, .low = -s.size, .high = s.size, .absent = !present};
  };
  const int64_t q_columns = s.layout == Layout::packed ? v_column + v_width : q_column + q_width;
  const int64_t k_columns = s.layout == Layout::packed_kv ? v_column + v_width : k_column + k_width;
  Case result;
  result.inputs = {
      source(s.T, q_columns, true),
      source(s.S, k_columns, s.layout != Layout::packed),
      source(s.S, v_column + v_width, s.layout == Layout::separate),
      {.type = {{1}, DType::i32}, .low = s.low_position, .high = s.high_position, .absent = !s.with_position},
      {.type = {{2}, DType::i32}, .low = 0, .high = 1000, .absent = s.dropout == 0},
      {.type = {{s.masks, s.mask_rows, s.S}, DType::i32}, .low = 0, .high = s.mask_high, .absent = s.masks == 0}};
  const CaseInput row{.type = {{s.B, s.T, s.heads * s.Dv}}};
  const double log_keys = std::log(static_cast<double>(s.S));
  const CaseInput log_sum_exp{.type = {{s.B, s.heads, s.T}}, .low = log_keys, .high = log_keys + 1};
  if (op == Of::backward) result.inputs.insert(result.inputs.end(), {row, log_sum_exp, row});
  if (op == Of::weights) result.inputs.push_back(log_sum_exp);
  result.attributes = {{"heads", static_cast<double>(s.heads)},
                       {"kv_heads", static_cast<double>(s.kv_heads)},
                       {"head_width", static_cast<double>(s.D)},
                       {"value_width", static_cast<double>(s.Dv)},
                       {"scale", s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(s.D))},
                       {"causal", s.causal ? 1.0 : 0.0},
                       {"dropout", s.dropout},
                       {"stream", 5},
                       {"q_column", static_cast<double>(q_column)},
                       {"k_column", static_cast<double>(k_column)},
                       {"v_column", static_cast<double>(v_column)}};
  // A weight is a sum over head columns, a result a sum over keys (a gradient of a key over queries and heads).
  const int64_t terms = op == Of::backward ? std::max(s.S, s.T * s.heads / s.kv_heads) : s.S;
  result.reduction = terms + std::max(s.D, s.Dv);
  return result;
}

std::vector<Case> make_cases(Of op) {
  std::vector<Case> cases;
  for (const Setting& setting : settings()) cases.push_back(make_case(setting, op));
  return cases;
}

}  // namespace

std::vector<Case> attention_cases() { return make_cases(Of::attention); }
std::vector<Case> attention_backward_cases() { return make_cases(Of::backward); }
std::vector<Case> attention_weights_cases() { return make_cases(Of::weights); }

}  // namespace vkformer
