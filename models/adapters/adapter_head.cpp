#include "models/adapters/adapter_head.h"

#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/registry.h"
#include "models/model_files.h"

namespace vkformer {

namespace {

/// Keys to be changed in the base's config.
nlohmann::json head_keys(const AdapterFiles& adapter, const JsonObject& base) {
  if (const auto file = adapter.folder() / adapter_head_file; std::filesystem::exists(file))
    return JsonObject::load(file).value();
  const std::string& task = adapter.task();
  const char* head = task == "SEQ_CLS"        ? "SequenceClassification"
                     : task == "TOKEN_CLS"    ? "TokenClassification"
                     : task == "QUESTION_ANS" ? "QuestionAnswering"
                                              : nullptr;
  nlohmann::json keys = nlohmann::json::object();
  if (!head) return keys;
  keys["architectures"] = {architecture_with_head(base, head)};
  const int64_t classes = task == "QUESTION_ANS" ? 0 : adapter.classes();
  if (classes > 0 && std::ssize(classes_of(base, 1)) != classes)
    keys.update({{"num_labels", classes}, {"id2label", nullptr}, {"label2id", nullptr}});
  return keys;
}

}  // namespace

Model load_model(const std::filesystem::path& folder, const AdapterFiles* adapter) {
  if (!adapter) return load_model(folder);
  return load_model(folder, head_keys(*adapter, load_model_json(folder, "config.json")));
}

}  // namespace vkformer
