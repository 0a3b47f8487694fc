#pragma once
// Generators over recorded models.

#include <string>

#include "models/generation/generation.h"
#include "models/weights.h"
#include "tests/model_helpers.h"

namespace vkformer::testing {

struct LoadedGenerator {
  LoadedGenerator(Backend& backend, const std::string& name, const GeneratorShape& shape)
      : model(model_of(fixture_config(name))), generator(backend, model, shape) {
    load_parameters(generator.store(), model.parameters, fixtures / name);
  }
  Model model;
  Generator generator;
};

}  // namespace vkformer::testing
