#pragma once
// Which strings of a list does a text start with?

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// A trie over bytes. The children of a node lie side by side, sorted by their byte.
class PieceTrie {
 public:
  explicit PieceTrie(std::span<const std::string> pieces);

  /// Calls found(length, index) for every piece, the empty one excepted, that `text` starts with, the shortest first.
  /// Of equal pieces the last one counts.
  template <class Found>
  void each_prefix(std::string_view text, Found found) const {
    uint32_t node = 0;
    for (size_t length = 1; length <= text.size() && step(node, static_cast<uint8_t>(text[length - 1])); ++length)
      if (nodes_[node].index >= 0) found(length, nodes_[node].index);
  }
  /// The index of the piece that is `text`.
  std::optional<int32_t> find(std::string_view text) const;

 private:
  struct Node {
    uint32_t first_child = 0;
    uint16_t children = 0;
    uint8_t byte = 0;
    int32_t index = -1;  ///< of the piece that ends here
  };
  /// Moves to the child for `byte`, if there is one.
  bool step(uint32_t& node, uint8_t byte) const {
    const auto first = nodes_.begin() + nodes_[node].first_child;
    const auto last = first + nodes_[node].children;
    const auto child = std::lower_bound(first, last, byte, [](const Node& n, uint8_t b) { return n.byte < b; });
    if (child == last || child->byte != byte) return false;
    node = static_cast<uint32_t>(child - nodes_.begin());
    return true;
  }

  std::vector<Node> nodes_;  ///< the root first
};

}  // namespace vkformer
