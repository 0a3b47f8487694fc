#include "models/seeing/stored_eyes.h"

#include "models/families/registry.h"
#include "models/stored_weights.h"
#include "models/weights.h"

namespace vkformer {

void store_eyes_as(Eyes& eyes, const std::filesystem::path& files, const std::string& dtype) {
  const Graph graph = eyes.graph(1);
  if (dtype.empty() && stays_as_filed(files)) {
    const Weights weights(eyes.model.parameters, files);
    store_weights_as(
        eyes.model,
        [&](const ParameterSpec& parameter, bool turned) { return weights.stored_type(parameter.name, turned); },
        graph);
  } else if (const DType type = dtype.empty() ? DType::f32 : weight_type(dtype); type != DType::f32) {
    store_weights_as(
        eyes.model, [type](const ParameterSpec&, bool) { return type; }, graph);
  }
}

}  // namespace vkformer
