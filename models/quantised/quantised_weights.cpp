#include "models/quantised/quantised_weights.h"

#include <algorithm>
#include <set>

#include "models/quantised/forms.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

/// A tensor of the files that is not quantised.
class SameWeight : public WeightTensor {
 public:
  explicit SameWeight(const WeightTensor& tensor)
      : WeightTensor(tensor.name(), {tensor.shape().begin(), tensor.shape().end()}, tensor.elements(), tensor.type(),
                     tensor.bytes()),
        tensor_(tensor) {}

  bool is_float() const override { return tensor_.is_float(); }
  void read_floats(int64_t first, std::span<float> out) const override { tensor_.read_floats(first, out); }
  std::optional<DType> stored(bool columns) const override { return tensor_.stored(columns); }
  void read_stored(int64_t first, std::span<std::byte> out) const override { tensor_.read_stored(first, out); }
  void release(int64_t first, int64_t count) const override { tensor_.release(first, count); }

 private:
  const WeightTensor& tensor_;
};

std::optional<CodedMatrix> matrix_of_form(const QuantisedLayer& layer, const Quantisation& how) {
  const WeightTensor& codes = layer.codes();
  const auto ends_with = [&](std::string_view end) { return codes.name().ends_with(end); };
  if (ends_with(".qweight")) return how.method == "awq" ? awq_layer(layer, how) : gptq_layer(layer, how);
  if (ends_with(".weight_packed")) return codes.type() == "U8" ? fp4_layer(layer, how) : packed_layer(layer, how);
  if (!ends_with(".weight")) return std::nullopt;
  for (const std::string_view type : {"nf4", "fp4"})
    if (const WeightTensor* state = layer.find(".weight.quant_state.bitsandbytes__" + std::string(type)))
      return bitsandbytes_layer(layer, *state, type == "nf4" ? "NF4" : "FP4");
  if (codes.type() == "U32") return mlx_layer(layer, how);
  if (codes.type() == "U8") return fp4_layer(layer, how);
  if (codes.type() != "I8" && codes.type() != "F8_E4M3") return std::nullopt;
  if (const WeightTensor* largest = layer.find(".SCB")) return bitsandbytes_byte_layer(layer, *largest);
  const WeightTensor* inverse = layer.find(".weight_scale_inv");
  return byte_layer(layer, inverse ? *inverse : layer.require(".weight_scale"), how);
}

/// The weight whose codes that tensor holds; nothing where it is of no form.
std::optional<CodedMatrix> find_layer(const WeightSource& files, const WeightTensor& codes, const Quantisation& how) {
  const QuantisedLayer layer(files, codes, codes.name().substr(0, codes.name().rfind('.')));
  std::optional<CodedMatrix> matrix = matrix_of_form(layer, how);
  if (matrix) matrix->bytes = layer.bytes();
  return matrix;
}

/// What belongs to layers beside their codes; those of inputs, outputs and caches have no effect here.
constexpr std::string_view known_parts[] = {"qzeros",
                                            "scales",
                                            "g_idx",
                                            "biases",
                                            "qbiases",
                                            "weight_scale",
                                            "weight_scale_inv",
                                            "weight_shape",
                                            "weight_g_idx",
                                            "weight_scale_2",
                                            "weight_zero_point",
                                            "weight_global_scale",
                                            "SCB",
                                            "weight_format",
                                            "input_scale",
                                            "input_scale_ub",
                                            "input_zero_point",
                                            "input_global_scale",
                                            "activation_scale",
                                            "output_scale",
                                            "q_scale",
                                            "k_scale",
                                            "v_scale"};

}  // namespace

QuantisedWeights::QuantisedWeights(std::unique_ptr<const WeightSource> files, const Quantisation& how)
    : files_(std::move(files)) {
  std::map<const WeightTensor*, CodedMatrix> matrices;
  std::set<std::string, std::less<>> layers;
  for (const auto& tensor : files_->tensors())
    if (auto matrix = find_layer(*files_, *tensor, how)) {
      layers.insert(matrix->name.substr(0, matrix->name.rfind('.') + 1));
      matrices.emplace(tensor.get(), std::move(*matrix));
    }
  // A layer's other tensors are in its matrix; names of deeper ones (nested scales) begin with the layer's, too.
  const auto is_part = [&](std::string_view name) {
    for (size_t dot = name.rfind('.'); dot != name.npos && dot > 0; dot = name.rfind('.', dot - 1)) {
      if (!layers.contains(name.substr(0, dot + 1))) continue;
      const std::string_view part = name.substr(dot + 1);
      if (part == "bias") return false;
      check(part.starts_with("weight.") || std::ranges::find(known_parts, part) != std::end(known_parts),
            "{}: it is not known what tensor {} does to its layer; {}", files_->name(), in_quotes(name, 120),
            other_than_quantised);
      return true;
    }
    // AutoAWQ divides activations of some models by a layer's scales.
    check(how.method != "awq" || !name.ends_with(".scales"), "{}: activations with scales ({}) are not supported; {}",
          files_->name(), in_quotes(name, 120), other_than_quantised);
    return false;
  };
  for (const auto& tensor : files_->tensors()) {
    if (const auto matrix = matrices.find(tensor.get()); matrix != matrices.end())
      add(coded_weight(std::move(matrix->second)));
    else if (!is_part(tensor->name()))
      add(std::make_unique<SameWeight>(*tensor));
  }
}

}  // namespace vkformer
