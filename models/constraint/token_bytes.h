#pragma once
// What each token of a vocabulary adds to a text, sorted, so that tokens that begin alike are looked at together.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

class PromptText;

class TokenBytes {
 public:
  /// `texts`: bytes by id; nothing for tokens that add none. `drops_first_blank`: a token that begins a text does so
  /// without its blank.
  explicit TokenBytes(std::vector<std::optional<std::string>> texts, bool drops_first_blank = false);

  size_t size() const { return bytes_.size(); }
  /// Nothing for ids beyond the vocabulary, too.
  std::optional<std::string_view> find(int32_t id) const;
  bool drops_first_blank() const { return drops_first_blank_; }

  /// Walks through all tokens from `start`: next(state, byte) gives the state behind a byte, or `dead`. Calls
  /// found(id) for those that don't reach it.
  template <class State, class Next, class Found>
  void walk(State start, State dead, Next next, Found found) const {
    std::vector<State> path{start};  // behind each byte of the token before
    path.resize(longest_ + 1, dead);
    constexpr auto none = static_cast<size_t>(-1);
    size_t dead_at = none;  // bytes of that token that are dead together
    for (const Entry& entry : sorted_) {
      if (dead_at <= entry.shared) continue;
      dead_at = none;
      const std::string& text = *bytes_[static_cast<size_t>(entry.id)];
      for (size_t i = entry.shared; i < text.size() && dead_at == none; ++i) {
        path[i + 1] = next(path[i], static_cast<uint8_t>(text[i]));
        if (path[i + 1] == dead) dead_at = i + 1;
      }
      if (dead_at == none) found(entry.id);
    }
  }

 private:
  struct Entry {
    int32_t id;
    uint32_t shared;  ///< how many bytes it begins with as the one before does
  };
  std::vector<std::optional<std::string>> bytes_;
  std::vector<Entry> sorted_;  ///< those with any bytes
  size_t longest_ = 0;
  bool drops_first_blank_;
};

/// Of a tokenizer's tokens. Throws Error where a token's text depends on the others.
std::shared_ptr<const TokenBytes> token_bytes(const PromptText& tokenizer);

}  // namespace vkformer
