#pragma once
// Weights that a store keeps in 16 bits or in encoded blocks, of models that are not trained there.

#include "models/model.h"
#include "models/type_fallbacks.h"
#include "runtime/device_facts.h"

namespace vkformer {

class Weights;

/// Gives the parameters that the model reads only as weights of products and as embedding tables the type `dtype`;
/// others, like norms, stay f32. A weight stored the other way round than products sum over (GPT-2's) is kept
/// transposed: blocks lie along that, and products of one row read 16 bytes at a time. Where rows are no whole blocks,
/// the type is fitting_type()'s; where an op takes none, f16.
void store_weights_as(Model& model, DType dtype);

/// The type that a parameter should have, f32 where it is to stay; `turned`: its blocks would be those of the
/// transposed matrix.
using WantedType = std::function<DType(const ParameterSpec&, bool turned)>;
/// The same, each in a type of its own. Products with a joint tensor whose parts get unlike types are computed part by
/// part.
void store_weights_as(Model& model, const WantedType& wanted);
/// The same of a model that runs by graphs of its own, which read their parameters as this one does.
void store_weights_as(Model& model, const WantedType& wanted, const Graph& graph);

/// The same, each in the type that the files have, where an op takes that.
void store_weights_as(Model& model, const Weights& files);

/// The type that llama.cpp takes for rows of `columns` values in place of `dtype`: itself where they are whole blocks,
/// otherwise one of blocks of 32 with at least as many bits, or f16.
DType fitting_type(DType dtype, int64_t columns);

/// Which weights of a model that was to be stored so have other types.
TypeFallbacks fallbacks_of(const Model& model, DType wanted);

/// A graph of that model as its family builds it, reading the parameters in the types they are stored in.
Graph with_stored_types(Graph graph, const Model& model);
/// The same with the model's adapter and operands for the device's matrix cores (runtime/passes/matrix_operands.h).
Graph as_stored(Graph graph, const Model& model, const DeviceFacts& device);

}  // namespace vkformer
