#pragma once
// The forms in which methods of quantisation lay down a matrix: which tensors, of which shapes, and what they mean.

#include "models/quantised/quantised_layer.h"

namespace vkformer {

// Codes in words of 32 bits (word_forms.cpp). The layer's tensors must outlive the results.
CodedMatrix gptq_layer(const QuantisedLayer& layer, const Quantisation& how);
CodedMatrix awq_layer(const QuantisedLayer& layer, const Quantisation& how);
CodedMatrix packed_layer(const QuantisedLayer& layer, const Quantisation& how);

// Codes in bytes (byte_forms.cpp).
CodedMatrix fp4_layer(const QuantisedLayer& layer, const Quantisation& how);
CodedMatrix byte_layer(const QuantisedLayer& layer, const WeightTensor& scales, const Quantisation& how);
/// `largest`: of each row.
CodedMatrix bitsandbytes_byte_layer(const QuantisedLayer& layer, const WeightTensor& largest);
/// `state`: JSON that says the shape; `type`: "NF4" or "FP4", which lives forever.
CodedMatrix bitsandbytes_layer(const QuantisedLayer& layer, const WeightTensor& state, std::string_view type);
CodedMatrix mlx_layer(const QuantisedLayer& layer, const Quantisation& how);

}  // namespace vkformer
