#pragma once
// Weights in host memory, where a device has no room for all of a model.

#include "models/generation/generation_plan.h"
#include "models/weight_placement.h"
#include "runtime/backend.h"

namespace vkformer {

/// Bytes of a device's memory that a Generator takes, the temporaries of its largest programs included.
int64_t device_bytes(const Model& model, const GeneratorShape& shape, const Backend& backend);

/// Lets weights of a model lie in host memory until there is room for a Generator, and `beside` bytes of others, in the
/// device's. Leaves the model as it is where that is so from the start, or can't be.
HostWeights place_generator(Model& model, const GeneratorShape& shape, const Backend& backend, int64_t beside = 0);
/// The same, and says so.
void make_room(Model& model, const GeneratorShape& shape, const Backend& backend, int64_t beside = 0);
/// The same until there is room for a run of `graph`, which reads the weights as they are stored.
void make_room(Model& model, const Graph& graph, const Backend& backend);
/// Lets weights lie in host memory until there is room for usual batches: of texts or pictures that are read in 4096
/// positions, of those that are written in 2048.
HostWeights place_usual(Model& model, const Backend& backend);
/// The same, and says so.
void make_room(Model& model, const Backend& backend);
/// The same of anything that takes so many bytes of the device's memory; `frozen`: of weights that are not trained.
HostWeights fit_device(Model& model, const Backend& backend, const std::function<int64_t(const Model&)>& needed,
                       bool frozen = false);

/// "1.20 GiB of 4.10 GiB of weights lie in host memory: Card has 3.00 GiB free; a token reads 0.80 GiB of them over the
/// bus". `reader`: what reads so much, a token or a batch unless told.
std::string host_weights_text(const HostWeights& placed, const Model& model, const DeviceFacts& facts,
                              std::string_view reader = {});

}  // namespace vkformer
