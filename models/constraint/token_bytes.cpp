#include "models/constraint/token_bytes.h"

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

}  // namespace vkformer
