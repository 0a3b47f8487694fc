#include "models/text/piece_trie.h"

#include <numeric>

namespace vkformer {

PieceTrie::PieceTrie(std::span<const std::string> pieces) : nodes_(1) {
  std::vector<int32_t> sorted(pieces.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  const auto piece = [&](size_t i) -> const std::string& { return pieces[static_cast<size_t>(sorted[i])]; };
  std::stable_sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) {
    return pieces[static_cast<size_t>(a)] < pieces[static_cast<size_t>(b)];
  });

  // The pieces below a node are neighbours in sorted order. Level by level: one node's children are made together.
  struct Below {
    size_t begin, end;
  };
  std::vector<Below> level{{0, pieces.size()}};
  size_t first_node = 0;  // the node of level[0]
  for (size_t depth = 0; !level.empty(); ++depth) {
    std::vector<Below> next;
    const size_t first_of_next = nodes_.size();
    for (size_t n = 0; n < level.size(); ++n) {
      auto [at, end] = level[n];
      for (; at < end && piece(at).size() == depth; ++at) nodes_[first_node + n].index = sorted[at];
      nodes_[first_node + n].first_child = static_cast<uint32_t>(nodes_.size());
      while (at < end) {
        const auto byte = static_cast<uint8_t>(piece(at)[depth]);
        const size_t begin = at;
        while (at < end && static_cast<uint8_t>(piece(at)[depth]) == byte) ++at;
        next.push_back({begin, at});
        nodes_.push_back({.byte = byte});
        ++nodes_[first_node + n].children;
      }
    }
    level = std::move(next);
    first_node = first_of_next;
  }
}

std::optional<int32_t> PieceTrie::find(std::string_view text) const {
  uint32_t node = 0;
  for (const char byte : text)
    if (!step(node, static_cast<uint8_t>(byte))) return std::nullopt;
  return nodes_[node].index >= 0 ? std::optional(nodes_[node].index) : std::nullopt;
}

}  // namespace vkformer
