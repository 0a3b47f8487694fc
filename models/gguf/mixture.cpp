#include "models/gguf/mixture.h"

#include <algorithm>
#include <numeric>

#include "models/gguf/architectures.h"
#include "models/stored_weights.h"
#include "runtime/check.h"

namespace vkformer {

/// A mixture: what most weights get, and more bits for those that need them.
struct MixtureRow {
  std::string_view name;
  uint32_t file_type;
  DType most;
  /// Values and the second feed-forward layer: `better` where more_bits() says so, or in the first layers. Of `experts`
  /// all but these.
  enum class Rule : uint8_t { none, q2_k, q3_k_m, q3_k_l, small, medium, nonlinear, experts } rule = Rule::none;
  DType better = most;
};

namespace {

using Rule = MixtureRow::Rule;

constexpr MixtureRow rows[] = {
    {"f32", 0, DType::f32},
    {"f16", 1, DType::f16},
    {"bf16", 32, DType::bf16},
    {"q8_0", 7, DType::q8_0},
    {"q6_k", 18, DType::q6_k},
    {"q5_k_m", 17, DType::q5_k, Rule::medium, DType::q6_k},
    {"q5_k_s", 16, DType::q5_k},
    {"q4_k_m", 15, DType::q4_k, Rule::medium, DType::q6_k},
    {"q4_k_s", 14, DType::q4_k, Rule::small, DType::q5_k},
    {"q3_k_l", 13, DType::q3_k, Rule::q3_k_l, DType::q5_k},
    {"q3_k_m", 12, DType::q3_k, Rule::q3_k_m, DType::q5_k},
    {"q3_k_s", 11, DType::q3_k},
    {"q2_k", 10, DType::q2_k, Rule::q2_k, DType::q4_k},
    {"q5_1", 9, DType::q5_1},
    {"q5_0", 8, DType::q5_0},
    {"q4_1", 3, DType::q4_1},
    {"q4_0", 2, DType::q4_0},
    {"iq4_nl", 25, DType::iq4_nl, Rule::nonlinear, DType::q5_k},
    {"iq4_xs", 30, DType::iq4_xs, Rule::nonlinear, DType::q5_k},
    {"mxfp4_moe", 38, DType::mxfp4, Rule::experts, DType::q8_0},
};

/// The first and the last eighth of the layers, and every third between them.
bool more_bits(int64_t layer, int64_t layers) {
  return layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
}

bool has(std::string_view name, std::string_view part) { return name.find(part) != name.npos; }

/// Vectors, norms, convolutions and tables of positions stay as they are.
bool is_weight(const Mixture::Tensor& tensor) {
  if (!tensor.name.ends_with("weight") || tensor.shape.size() < 2) return false;
  // Of a matrix with one column or one row ggml sees a vector.
  if (std::ranges::count_if(tensor.shape, [](int64_t n) { return n > 1; }) < 2) return false;
  for (const char* part : {"_norm.weight", "ffn_gate_inp.weight", "attn_rel_b.weight", "ssm_conv1d",
                           "shortconv.conv.weight", "per_layer_model_proj"})
    if (has(tensor.name, part)) return false;
  return tensor.name != "position_embd.weight" && tensor.name != "token_types.weight";
}

/// llama-quantize goes through the tensors by layer, then by name; others come first.
std::vector<size_t> order_of(const std::vector<Mixture::Tensor>& tensors) {
  std::vector<size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order, [&](size_t a, size_t b) {
    const int64_t layer_a = layer_in_name(tensors[a].name), layer_b = layer_in_name(tensors[b].name);
    return layer_a != layer_b ? layer_a < layer_b : tensors[a].name < tensors[b].name;
  });
  return order;
}

/// How many tensors of one kind came before, of how many.
struct Count {
  int64_t before = 0, all = 0;
};

DType values_type(const MixtureRow& row, const Count& count, int64_t queries_per_key) {
  const bool shared = queries_per_key >= 4;
  switch (row.rule) {
    case Rule::q2_k: return shared ? DType::q4_k : DType::q3_k;
    case Rule::q3_k_m: return count.before < 2 ? DType::q5_k : DType::q4_k;
    case Rule::q3_k_l: return DType::q5_k;
    case Rule::small: return count.before < 4 ? row.better : row.most;
    case Rule::medium: return more_bits(count.before, count.all) ? row.better : row.most;
    case Rule::nonlinear: return shared ? row.better : row.most;
    default: return row.most;
  }
}

DType down_type(const MixtureRow& row, const Count& count) {
  switch (row.rule) {
    case Rule::q2_k: return DType::q3_k;
    case Rule::q3_k_m: return count.before < count.all / 16 ? DType::q5_k : DType::q4_k;
    case Rule::q3_k_l: return DType::q5_k;
    case Rule::medium: return more_bits(count.before, count.all) ? row.better : row.most;
    case Rule::small:
    case Rule::nonlinear: return count.before < count.all / 8 ? row.better : row.most;
    default: return row.most;
  }
}

/// The same of Falcon, whose layers gain less by it.
DType falcon_down_type(const MixtureRow& row, const Count& count) {
  const bool first = count.before < count.all / 16, more = more_bits(count.before, count.all);
  if (row.rule == Rule::q3_k_m) return first ? DType::q5_k : more ? DType::q4_k : row.most;
  if (row.rule == Rule::q3_k_l) return DType::q4_k;
  if (row.rule == Rule::small) return row.most;
  if (row.rule == Rule::medium && row.most == DType::q4_k) return first ? DType::q6_k : more ? DType::q5_k : row.most;
  return down_type(row, count);
}

/// `eight`: of eight experts, which share the rest of a layer.
DType output_type(const MixtureRow& row, bool eight) {
  if (eight) {
    const bool few =
        row.most == DType::q2_k || row.most == DType::q3_k || row.most == DType::q4_k || row.rule == Rule::nonlinear;
    return few ? DType::q5_k : row.most;
  }
  if (row.rule == Rule::q2_k) return DType::q3_k;
  if (row.rule == Rule::q3_k_m) return DType::q4_k;
  return row.rule == Rule::q3_k_l ? DType::q5_k : row.most;
}

/// What has the values of attention: alone, or beside queries and keys.
bool has_values(std::string_view name) { return has(name, "attn_v.weight") || has(name, "attn_qkv.weight"); }

}  // namespace

Mixture::Mixture(std::string_view name)
    : row_(std::ranges::find_if(rows, [&](const MixtureRow& row) { return row.name == name; })) {
  check(row_ != std::end(rows), "there are no {} weights; there are {}", name, known_mixtures());
}

uint32_t Mixture::file_type() const { return row_->file_type; }
bool Mixture::has_blocks() const { return is_blocks(row_->most); }

std::vector<DType> Mixture::types_of(const std::vector<Tensor>& tensors, const Sizes& sizes,
                                     TypeFallbacks* fallbacks) const {
  // llama-quantize counts the second feed-forward layers of an encoder and a decoder together, but not how many there
  // are.
  Count values, downs{.all = sizes.layers};
  bool has_head = false;
  for (const Tensor& tensor : tensors) {
    values.all += has_values(tensor.name);
    has_head = has_head || tensor.name == "output.weight";
  }
  const bool eight = sizes.experts == 8;
  std::vector<DType> types(tensors.size(), DType::f32);
  for (const size_t i : order_of(tensors)) {
    const Tensor& tensor = tensors[i];
    if (!is_weight(tensor)) continue;
    DType type = row_->most;
    if (row_->rule == Rule::experts) {
      type = tensor.shape.size() > 2 ? row_->most : row_->better;
    } else if (has_blocks()) {
      // The head, or the embedding where that is the head, too, and with it that of all layers.
      if (has_head ? tensor.name == "output.weight" : tensor.name.ends_with("token_embd.weight")) {
        if (type != DType::q8_0) type = sizes.falcon ? DType::q8_0 : DType::q6_k;
      } else if (has_values(tensor.name)) {
        type = eight ? DType::q8_0 : values_type(*row_, values, sizes.queries_per_key);
        ++values.before;
      } else if (has(tensor.name, "attn_k.weight")) {
        if (eight) type = DType::q8_0;
      } else if (has(tensor.name, "ffn_down")) {
        if (sizes.experts > 1) downs.before = layer_in_name(tensor.name);  // of which a layer has several such tensors
        type = sizes.falcon ? falcon_down_type(*row_, downs) : down_type(*row_, downs);
        ++downs.before;
      } else if (has(tensor.name, "attn_output.weight")) {
        if (!sizes.falcon)
          type = output_type(*row_, eight);
        else if (row_->rule == Rule::q3_k_l)
          type = DType::q4_k;
      }
    }
    types[i] = fitting_type(type, tensor.shape.back());
    if (fallbacks) fallbacks->add(type, types[i]);
  }
  return types;
}

std::string known_mixtures() {
  std::string names;
  for (const MixtureRow& row : rows) names += fmt::format("{}{}", names.empty() ? "" : ", ", row.name);
  return names;
}

}  // namespace vkformer
