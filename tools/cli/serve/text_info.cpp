#include "tools/cli/serve/text_info.h"

#include "models/serving/llama_form.h"
#include "tools/cli/serve/service.h"

namespace vkformer {

std::string metrics_of(const SlotCounts& counts) {
  std::string text;
  const auto add = [&](const char* name, const char* kind, const char* help, auto value) {
    text += metric_text(name, kind, help, static_cast<double>(value));
  };
  add("requests_total", "counter", "Texts that were written.", counts.jobs);
  add("prompt_tokens_total", "counter", "Tokens of prompts that were run.", counts.prompt_tokens);
  add("prompt_seconds_total", "counter", "Seconds that took.", counts.prompt_seconds);
  add("tokens_predicted_total", "counter", "Tokens that were written.", counts.answer_tokens);
  add("tokens_predicted_seconds_total", "counter", "Seconds that took.", counts.answer_seconds);
  add("requests_processing", "gauge", "Texts that are being written.", counts.busy);
  add("requests_deferred", "gauge", "Texts that wait for a slot.", counts.waiting);
  return text;
}

nlohmann::json props_of(const TextSlots& slots, const ServedModel& model, const ChatSetup* setup,
                        const GenerationConfig& config) {
  nlohmann::json props{{"default_generation_settings", {{"n_ctx", slots.capacity()}, {"params", llama_params(config)}}},
                       {"total_slots", slots.busy_slots().size()},
                       {"model_alias", model.name},
                       {"model_path", model.path},
                       {"chat_template", setup ? setup->chat_template.source() : ""},
                       {"modalities", {{"vision", model.sees}, {"audio", false}}}};
  for (const char* token : {"bos_token", "eos_token"})
    if (setup && setup->variables.contains(token)) props[token] = setup->variables[token];
  return props;
}

nlohmann::json slots_of(const TextSlots& slots) {
  nlohmann::json list = nlohmann::json::array();
  for (const bool busy : slots.busy_slots())
    list.push_back({{"id", list.size()}, {"n_ctx", slots.capacity()}, {"is_processing", busy}});
  return list;
}

}  // namespace vkformer
