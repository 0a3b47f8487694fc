#pragma once
// GGUF files made of recorded models.

#include "models/families/registry.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_export.h"
#include "models/weights.h"
#include "runtime/files/gguf.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

namespace vkformer::testing {

/// The fixture as a GGUF file of that mixture.
inline std::filesystem::path write_fixture(const TemporaryFolder& folder, const std::string& fixture,
                                           const char* mixture) {
  const Model model = load_model(fixtures / fixture);
  const std::filesystem::path file = folder / (fixture + "." + mixture + ".gguf");
  write_model_as_gguf(file, model, Weights(model.parameters, fixtures / fixture), fixtures / fixture, Mixture(mixture));
  return file;
}

/// What a file with these pairs and the tensors of another says of its model.
inline nlohmann::json config_with(const TemporaryFolder& folder, const GgufPairs& pairs, const GgufFile& tensors) {
  std::vector<GgufSource> sources;
  for (const GgufTensor& tensor : tensors.tensors())
    sources.push_back({tensor.name, tensor.type, tensor.shape, [&tensor] { return tensor.bytes; }});
  write_gguf(folder / "m.gguf", pairs, sources);
  return gguf_config(GgufShards(folder / "m.gguf"));
}

}  // namespace vkformer::testing
