#pragma once
// The vectors of a few texts by a tower that reads.

#include <filesystem>
#include <string>
#include <vector>

#include "models/data/token_texts.h"
#include "models/model.h"

namespace vkformer {

/// The id that fills texts of the tower up to its context, where Model::fill says that one does: the padding that the
/// tokenizer's settings in `folder` name, which transformers takes, or else the config's.
std::optional<int32_t> fill_of(const Model& tower, const std::filesystem::path& folder, const Tokenizer& tokenizer);

/// Of length 1, in the order of the texts, which are cut to the context. `tower`: of Task::vector, its tokenizer in
/// `folder`, its parameters in `store`. Throws Error for a text without tokens.
std::vector<std::vector<float>> text_vectors(Backend& backend, const Model& tower, const std::filesystem::path& folder,
                                             std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace,
                                             const std::vector<std::string>& texts);

}  // namespace vkformer
