#include "tools/cli/generation_memory.h"

#include "models/families/registry.h"
#include "models/parameters.h"
#include "runtime/check.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

bool has_room(int64_t bytes, const DeviceFacts& facts) {
  return facts.memory_total == 0 || static_cast<uint64_t>(bytes) <= facts.memory_free;
}

}  // namespace

int64_t generator_bytes(const Model& model, const GeneratorShape& shape, const DeviceFacts& facts) {
  const auto blocks = parameter_blocks(model.parameters, facts.max_allocation);
  return plan_generation(model, shape, blocks, &facts).layout.device_bytes();
}

std::optional<FittingType> fitting_type(const Model& model, const GeneratorShape& shape, const DeviceFacts& facts,
                                        int64_t beside) {
  for (const char* dtype : {"bf16", "q8_0", "q4_k"}) {
    Model stored = model;
    store_weights_as(stored, {}, dtype);
    const int64_t bytes = generator_bytes(stored, shape, facts);
    if (has_room(bytes + beside, facts)) return FittingType{dtype, bytes};
  }
  return std::nullopt;
}

void check_fits(Model& model, const std::filesystem::path& files, const GeneratorShape& shape, const Backend& backend,
                int64_t beside) {
  make_room(model, shape, backend, beside);
  const DeviceFacts& facts = backend.facts();
  const int64_t needed = generator_bytes(model, shape, facts);
  if (has_room(needed + beside, facts)) return;
  const auto fitting = fitting_type(load_model(files), shape, facts, beside);
  fail("{} needs {} for weights and caches{}, {} has {} free; {}", files.generic_string(), size_text(needed),
       beside > 0 ? fmt::format(", what runs beside it (a model that drafts, eyes) {}", size_text(beside)) : "",
       facts.name, size_text(static_cast<int64_t>(facts.memory_free)),
       fitting ? fmt::format("--dtype {} takes {}", fitting->dtype, size_text(fitting->bytes))
               : "use a smaller model or context");
}

}  // namespace vkformer
