#pragma once
// What a server of texts tells of itself, by llama.cpp's names.

#include <nlohmann/json.hpp>

#include "tools/cli/chat_setup.h"
#include "tools/cli/serve/text_slots.h"

namespace vkformer {

/// What clients are told of a model.
struct ServedModel {
  std::string name, path;  ///< the path as it was given
  bool sees = false;       ///< pictures
};

/// In Prometheus' form.
std::string metrics_of(const SlotCounts& counts);
/// GET /props. `setup`: nothing where the model has no template.
nlohmann::json props_of(const TextSlots& slots, const ServedModel& model, const ChatSetup* setup,
                        const GenerationConfig& config);
/// GET /slots.
nlohmann::json slots_of(const TextSlots& slots);

}  // namespace vkformer
