#include "models/families/encoder_head.h"

#include <array>
#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr std::array heads{EncoderHead::masked, EncoderHead::sequence, EncoderHead::tokens, EncoderHead::answer,
                           EncoderHead::none};

std::string_view class_prefix(std::string_view family) {
  for (const auto& [type, prefix] : encoder_classes)
    if (type == family) return prefix;
  fail("'{}' is none of the families of encoders", family);
}

}  // namespace

bool has_head(std::string_view family, EncoderHead head) {
  return family != "nomic_bert" || head != EncoderHead::answer;
}

std::string name_of_head(const std::string& family, EncoderHead head) {
  constexpr std::array suffixes{"ForMaskedLM", "ForSequenceClassification", "ForTokenClassification",
                                "ForQuestionAnswering", "Model"};
  return std::string(class_prefix(family)) + suffixes[static_cast<size_t>(head)];
}

EncoderHead head_of(const JsonObject& json, const std::string& family) {
  std::vector<std::string> known;
  for (const EncoderHead head : heads)
    if (has_head(family, head)) known.push_back(name_of_head(family, head));
  // Its first head is the masked one; what tells whether two texts follow each other is left out.
  for (const auto& [pretrained, name] :
       {std::pair("bert", "BertForPreTraining"), {"nomic_bert", "NomicBertForPreTraining"}})
    if (family == pretrained) known.emplace_back(name);
  const std::string& found = known[architecture_of(json, known, true)];
  for (const EncoderHead head : heads)
    if (name_of_head(family, head) == found) return head;
  return EncoderHead::masked;
}

HeadClasses classes_of_head(const JsonObject& json, EncoderHead head) {
  HeadClasses classes;
  if (head == EncoderHead::sequence || head == EncoderHead::tokens) classes.names = classes_of(json, 1);
  if (head == EncoderHead::sequence) classes.problem = problem_of(json, classes.names.size());
  if (head == EncoderHead::answer)
    check(classes_of(json, 2).size() == 2, "{}: answers have 2 labels, their start and their end, not those of {}",
          json.name(), json.has("id2label") ? "id2label" : "num_labels");
  return classes;
}

Task task_of(EncoderHead head, Problem problem) {
  switch (head) {
    case EncoderHead::sequence:
      return problem == Problem::number ? Task::number : problem == Problem::each_class ? Task::score : Task::classify;
    case EncoderHead::tokens: return Task::tag;
    case EncoderHead::answer: return Task::answer;
    case EncoderHead::none: return Task::states;
    case EncoderHead::masked: break;
  }
  return Task::masked;
}

nlohmann::json class_keys(const HeadClasses& classes) {
  nlohmann::json json = nlohmann::json::object();
  if (classes.problem == Problem::number) json["problem_type"] = "regression";
  if (classes.problem == Problem::each_class && classes.names.size() > 1)
    json["problem_type"] = "multi_label_classification";
  for (size_t i = 0; i < classes.names.size(); ++i) {
    json["id2label"][std::to_string(i)] = classes.names[i];
    json["label2id"][classes.names[i]] = i;
  }
  return json;
}

nlohmann::json head_keys(const std::string& family, EncoderHead head, const HeadClasses& classes) {
  nlohmann::json json = class_keys(classes);
  json["model_type"] = family;
  json["architectures"] = {name_of_head(family, head)};
  return json;
}

}  // namespace vkformer
