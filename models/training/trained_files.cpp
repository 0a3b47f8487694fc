#include "models/training/trained_files.h"

#include "models/adapters/adapter_files.h"
#include "models/weights.h"

namespace vkformer {

void save_trained(const Store& store, const Model& model, const std::filesystem::path& folder) {
  if (model.adapter) return save_adapter(store, model, folder);
  save_parameters(store, model.parameters, folder / "model.safetensors");
}

void load_trained(Store& store, const Model& model, const std::filesystem::path& folder) {
  if (model.adapter) return AdapterFiles(folder).load(store, model);
  load_parameters(store, model.parameters, folder);
}

}  // namespace vkformer
