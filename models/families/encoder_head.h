#pragma once
// The heads that encoders of words have, as transformers names its classes after them.

#include <nlohmann/json_fwd.hpp>

#include "models/families/config_keys.h"
#include "models/model.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// The families by model_type, and what their classes begin with.
inline constexpr std::pair<std::string_view, std::string_view> encoder_classes[] = {{"bert", "Bert"},
                                                                                    {"roberta", "Roberta"},
                                                                                    {"xlm-roberta", "XLMRoberta"},
                                                                                    {"camembert", "Camembert"},
                                                                                    {"distilbert", "DistilBert"},
                                                                                    {"mpnet", "MPNet"},
                                                                                    {"electra", "Electra"},
                                                                                    {"albert", "Albert"},
                                                                                    {"deberta-v2", "DebertaV2"},
                                                                                    {"nomic_bert", "NomicBert"},
                                                                                    {"modernbert", "ModernBert"}};

enum class EncoderHead : uint8_t {
  masked,    ///< ..ForMaskedLM: dense, activation, norm, word embedding, bias
  sequence,  ///< ..ForSequenceClassification
  tokens,    ///< ..ForTokenClassification
  answer,    ///< ..ForQuestionAnswering: logits [B, T, 2] of its first and its last token
  none,      ///< ..Model: the hidden states [B, T, C]
};

/// Whether transformers has such a class.
bool has_head(std::string_view family, EncoderHead head);
/// "BertForMaskedLM". Throws Error for a family that is none of encoder_classes.
std::string name_of_head(const std::string& family, EncoderHead head);
/// The one that the config's `architectures` names. Throws Error naming file and key for another, or none.
EncoderHead head_of(const JsonObject& json, const std::string& family);

/// What a classifier tells apart.
struct HeadClasses {
  std::vector<std::string> names = {};
  Problem problem = Problem::one_class;  ///< of a sequence
};
/// Throws Error naming file and key for what a head can't have.
HeadClasses classes_of_head(const JsonObject& json, EncoderHead head);
Task task_of(EncoderHead head, Problem problem);
/// The classes, and with model_type and architectures, as transformers loads them.
nlohmann::json class_keys(const HeadClasses& classes);
nlohmann::json head_keys(const std::string& family, EncoderHead head, const HeadClasses& classes);

}  // namespace vkformer
