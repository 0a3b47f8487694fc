#include "models/constraint/token_bytes.h"

#include "models/text/prompt_text.h"

namespace vkformer {

TokenBytes::TokenBytes(std::vector<std::optional<std::string>> texts, bool drops_first_blank)
    : bytes_(std::move(texts)), drops_first_blank_(drops_first_blank) {
  for (size_t id = 0; id < bytes_.size(); ++id)
    if (bytes_[id] && !bytes_[id]->empty()) sorted_.push_back({static_cast<int32_t>(id), 0});
  const auto text_of = [this](const Entry& entry) -> const std::string& {
    return *bytes_[static_cast<size_t>(entry.id)];
  };
  std::ranges::sort(sorted_, {}, text_of);
  for (size_t i = 0; i < sorted_.size(); ++i) {
    const std::string& text = text_of(sorted_[i]);
    longest_ = std::max(longest_, text.size());
    if (i == 0) continue;
    const auto same = std::ranges::mismatch(text, text_of(sorted_[i - 1])).in1 - text.begin();
    sorted_[i].shared = static_cast<uint32_t>(same);
  }
}

std::optional<std::string_view> TokenBytes::find(int32_t id) const {
  const auto index = static_cast<size_t>(id);
  if (index >= bytes_.size() || !bytes_[index]) return std::nullopt;
  return *bytes_[index];
}

std::shared_ptr<const TokenBytes> token_bytes(const PromptText& tokenizer) {
  std::vector<std::optional<std::string>> all;
  std::optional<bool> drops_first_blank;
  for (int32_t id = 0; id < tokenizer.size(); ++id) {
    const auto& bytes = all.emplace_back(tokenizer.bytes_of(id));
    if (!drops_first_blank && bytes && bytes->starts_with(' ') && bytes->size() > 1)
      drops_first_blank = !tokenizer.decode({&id, 1}).starts_with(' ');
  }
  return std::make_shared<TokenBytes>(std::move(all), drops_first_blank.value_or(false));
}

}  // namespace vkformer
