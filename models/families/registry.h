#pragma once
// All families by their model_type. Adding a family is one folder with a config struct and its build functions, and a
// line in registry.cpp.

#include "models/model.h"

namespace vkformer {

/// The model that a config.json describes. Throws Error for an unknown model_type or values that can't be, before any
/// allocation.
Model make_model(const JsonObject& config);

/// Whether a model's weights keep the types that its files have where nobody names one: those of a GGUF file, and of
/// a folder that is quantised.
bool stays_as_filed(const std::filesystem::path& model);

/// What `architectures` calls a family's model with a head, "MaskedLM", "SequenceClassification", "TokenClassification"
/// or "QuestionAnswering": "BertForSequenceClassification". Throws Error for a config of a family that has none.
std::string architecture_with_head(const JsonObject& config, std::string_view head);

/// Whether a model's logits [B, T, V] are those of the tokens at their own positions.
bool predicts_masked_words(const Model& model);

/// The model of a folder or a GGUF file (see model_files.h): of its config.json and, where that leaves open which
/// tensors there are, of its tensors. Throws Error like make_model, and then for files that can't be read.
Model load_model(const std::filesystem::path& path);
/// The same with some keys of its config changed.
Model load_model(const std::filesystem::path& path, const nlohmann::json& changes);

}  // namespace vkformer
