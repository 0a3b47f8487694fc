#include "models/families/decoder_head.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"

namespace vkformer {

namespace {

constexpr const char* class_head = "score";

/// "LlamaForSequenceClassification"; empty: the family has none.
std::string classifier_of(std::string_view family) {
  for (const auto& [type, prefix] : decoder_classifiers)
    if (type == family) return fmt::format("{}ForSequenceClassification", prefix);
  return "";
}

}  // namespace

std::optional<HeadClasses> read_decoder_head(const JsonObject& json, const std::string& family,
                                             const char* architecture) {
  std::vector<std::string> architectures = {architecture};
  if (const std::string classifier = classifier_of(family); !classifier.empty()) architectures.push_back(classifier);
  if (architecture_of(json, architectures) == 0) return std::nullopt;
  return classes_of_head(json, EncoderHead::sequence);
}

nlohmann::json decoder_head_keys(const std::string& family, const char* architecture,
                                 const std::optional<HeadClasses>& classes) {
  nlohmann::json json = classes ? class_keys(*classes) : nlohmann::json::object();
  json["model_type"] = family;
  json["architectures"] = {classes ? classifier_of(family) : architecture};
  return json;
}

void add_class_head(ParameterList& list, int64_t width, const HeadClasses& classes) {
  list.linear(class_head, width, std::ssize(classes.names), false);
}

Value class_logits(Graph& graph, const Pass& pass, Value hidden, const HeadClasses& classes) {
  Layers layers(graph, pass);
  return layers.linear(layers.last_rows(hidden), class_head, std::ssize(classes.names), {.bias = false});
}

Task decoder_task(const std::optional<HeadClasses>& classes) {
  return classes ? task_of(EncoderHead::sequence, classes->problem) : Task::causal;
}

}  // namespace vkformer
