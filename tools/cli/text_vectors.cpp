#include "tools/cli/text_vectors.h"

#include <nlohmann/json.hpp>

#include "models/chat/chat_files.h"
#include "models/embedding/embedder.h"
#include "runtime/files/utf8.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

std::optional<int32_t> fill_of(const Model& tower, const std::filesystem::path& folder, const Tokenizer& tokenizer) {
  if (tower.fill < 0) return std::nullopt;
  const auto id = tokenizer.id_of(special_token_variables(folder).value("pad_token", ""));
  return id.value_or(static_cast<int32_t>(tower.fill));
}

std::vector<std::vector<float>> text_vectors(Backend& backend, const Model& tower, const std::filesystem::path& folder,
                                             std::shared_ptr<Store> store, std::shared_ptr<Workspace> workspace,
                                             const std::vector<std::string>& texts) {
  const Tokenizer tokenizer = TokenizerFiles::load(folder).tokenizer();
  const auto fill = fill_of(tower, folder, tokenizer);
  TokenTexts tokens;
  for (const std::string& text : texts) {
    tokens.add(tokenizer, text, {}, tower.context, in_quotes(text));
    if (fill) tokens.fill_last(*fill, tower.context);
  }
  Embedder embedder(backend, tower, std::move(store), std::move(workspace), Pooling::last);
  std::vector<std::vector<float>> vectors(texts.size());
  constexpr int64_t positions = 4096;
  embed_by_length(embedder, tokens, text_inputs(tower, 0), positions,
                  [&](size_t text, std::vector<float> vector) { vectors[text] = std::move(vector); });
  return vectors;
}

}  // namespace vkformer
