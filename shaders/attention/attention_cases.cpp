#include <algorithm>
#include <cmath>

#include "shaders/attention/attention_problem.h"
#include "shaders/attention/attention_settings.h"

namespace vkformer {

using namespace attention_settings;

namespace {

enum class Of { attention, backward, weights };

bool has_gradient(const Setting& s) { return !s.own_positions && s.layout != Layout::shared; }

Case make_case(const Family& family, const Setting& s, Of op) {
  const auto [B, T, S, heads, kv_heads] = s.sizes;
  const int64_t D = family.D, Dv = family.Dv;
  const int64_t q_width = heads * D, k_width = kv_heads * D, v_width = kv_heads * Dv;
  const int64_t q_column = s.margin;
  const int64_t k_column = s.layout == Layout::packed ? q_column + q_width : s.margin;
  const bool shared = s.layout == Layout::shared;
  const int64_t v_column = s.layout == Layout::separate || shared ? s.margin : k_column + k_width;
  // Backward, log_sum_exp is not that of the scores: weights of large ones would be more than f16 holds.
  const double size = op == Of::backward && is_half(family.type) ? 1 : s.size;
  const auto source = [&](int64_t rows, int64_t columns, bool present) {
    return CaseInput{.type = {{B, rows, columns}, family.type},
                     .low = -size,
                     .high = size,
                     .absent = !present,
                     .constant = !has_gradient(s)};
  };
  CaseInput q_source = source(T, s.layout == Layout::packed ? v_column + v_width : q_column + q_width, true);
  if (family.float_queries) q_source.type.dtype = DType::f32;
  q_source.constant = family.float_queries || !has_gradient(s);  // not differentiable
  const int64_t k_columns = s.layout == Layout::packed_kv ? v_column + v_width : k_column + k_width;
  Case result;
  result.inputs = {
      q_source,
      source(S, k_columns, s.layout != Layout::packed),
      source(S, v_column + v_width, s.layout == Layout::separate),
      {.type = {{s.own_positions ? B : 1}, DType::i32},
       .low = s.low_position,
       .high = s.high_position,
       .absent = !s.with_position && !s.own_positions},
      {.type = {{2}, DType::i32}, .low = 0, .high = 1000, .absent = s.dropout == 0},
      {.type = {{s.masks, s.mask_rows, S}, DType::i32}, .low = 0, .high = s.mask_high, .absent = s.masks == 0},
      // The rule's delta is of results that are rounded to 16 bits, which finite differences are not.
      {.type = {{s.biases, heads, T, S}},
       .low = -2,
       .high = 2,
       .absent = s.biases == 0,
       .constant = is_half(family.type)},
      {.type = {{heads}}, .low = -2, .high = 2, .absent = !family.sinks, .constant = is_half(family.type)}};
  const CaseInput row{.type = {{B, T, heads * Dv}, family.type}};
  const double log_keys = std::log(static_cast<double>(S));
  const CaseInput log_sum_exp{.type = {{B, heads, T}}, .low = log_keys, .high = log_keys + 1};
  if (op == Of::backward) result.inputs.insert(result.inputs.end(), {row, log_sum_exp, row});
  if (op == Of::weights) result.inputs.push_back(log_sum_exp);
  result.attributes = {{"heads", static_cast<double>(heads)},
                       {"kv_heads", static_cast<double>(kv_heads)},
                       {"head_width", static_cast<double>(D)},
                       {"value_width", static_cast<double>(Dv)},
                       {"scale", s.scale != 0 ? s.scale : 1 / std::sqrt(static_cast<double>(D))},
                       {"causal", s.causal ? 1.0 : 0.0},
                       {"dropout", s.dropout},
                       {"stream", 5},
                       {"window", static_cast<double>(s.window)},
                       {"softcap", s.softcap},
                       {"q_column", static_cast<double>(q_column)},
                       {"k_column", static_cast<double>(k_column)},
                       {"v_column", static_cast<double>(v_column)}};
  // A weight is a sum over head columns, a result a sum over keys (a gradient of a key over queries and heads).
  const int64_t terms = op == Of::backward ? std::max(S, T * heads / kv_heads) : S;
  result.reduction = terms + std::max(D, Dv);
  if (!family.large_tiles) result.spared = {"tiled64_8x4", "tiled64_4x4"};
  // Of such heads both walk through chunks of columns, of 64 or of 32; one of them is enough.
  if (family.D > 128) result.spared.emplace_back("tiled_narrow");
  return result;
}

std::vector<Case> make_cases(Of op) {
  std::vector<Case> cases;
  std::vector<Family> families = float_families();
  const auto add = [&](const std::vector<Family>& more) { families.insert(families.end(), more.begin(), more.end()); };
  if (op != Of::weights) add(half_families());
  if (op == Of::attention) add(cache_families());
  for (const Family& family : families)
    for (const Setting& setting : family.settings)
      if (op != Of::backward || has_gradient(setting)) cases.push_back(make_case(family, setting, op));
  return cases;
}

}  // namespace

std::vector<Case> attention_cases() { return make_cases(Of::attention); }
std::vector<Case> attention_backward_cases() { return make_cases(Of::backward); }
std::vector<Case> attention_weights_cases() { return make_cases(Of::weights); }

}  // namespace vkformer
