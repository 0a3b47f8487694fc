#include "runtime/split/layer_parts.h"

#include <algorithm>
#include <numeric>

#include "runtime/check.h"

namespace vkformer {

LayerParts::LayerParts(const StoreLayout& layout, std::span<const double> shares) {
  std::map<LayerName, int64_t> layer_bytes;
  std::vector<std::string> stacks, behind;  // in their order
  int64_t before = 0, all = 0;
  for (size_t block = 0; block < layout.blocks().size(); ++block) {
    const BlockMemory memory = layout.block_memories()[block];
    const bool constants = layout.block_names()[block] == "constants", in_host = memory == BlockMemory::host;
    if (memory == BlockMemory::device && !constants) continue;  // of caches and states, which follow their layers
    for (const StoreLayout::Part& part : layout.parts(block)) {
      const int64_t bytes = in_host ? 0 : part.type.bytes();
      all += bytes;
      if (const auto layer = layer_name_of(part.name); layer && !constants) {
        if (!layer_bytes.contains(*layer)) behind.clear();
        layer_bytes[*layer] += bytes;
        if (std::ranges::count(stacks, layer->stack) == 0) stacks.push_back(layer->stack);
      } else if (constants || part.type.shape.rows() == 1) {
        others_[part.name] = everywhere;
      } else {
        others_[part.name] = 0;
        if (!in_host) behind.push_back(part.name);  // blocks of host memory stand behind all others
        if (layer_bytes.empty()) before += bytes;
      }
    }
  }
  const double whole = std::accumulate(shares.begin(), shares.end(), 0.0);
  double until = shares[0] / whole;
  int part = 0;
  double done = static_cast<double>(before);
  for (const std::string& stack : stacks)
    for (auto layer = layer_bytes.lower_bound({stack, 0}); layer != layer_bytes.end() && layer->first.stack == stack;
         ++layer) {
      const auto bytes = static_cast<double>(layer->second);
      while (part + 1 < std::ssize(shares) && done + bytes / 2 > until * static_cast<double>(all))
        until += shares[static_cast<size_t>(++part)] / whole;
      layers_[layer->first] = part;
      done += bytes;
    }
  for (const std::string& name : behind) others_[name] = part;
}

int LayerParts::of(const std::string& tensor) const {
  if (const auto other = others_.find(tensor); other != others_.end()) return other->second;
  const auto layer = layer_name_of(tensor);
  if (!layer) return 0;
  if (const auto known = layers_.find(*layer); known != layers_.end()) return known->second;
  // A cache has the number of its layer, of the decoder where there are two stacks: the name that comes last.
  int part = 0;
  for (const auto& [name, its] : layers_)
    if (name.number == layer->number) part = std::max(part, its);
  return part;
}

std::string LayerParts::describe(int part) const {
  std::string text;
  for (auto layer = layers_.begin(); layer != layers_.end(); ++layer) {
    if (layer->second != part) continue;
    const auto first = layer;
    while (std::next(layer) != layers_.end() && std::next(layer)->second == part &&
           std::next(layer)->first.stack == first->first.stack)
      ++layer;
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", first->first.stack, first->first.number);
    if (layer != first) text += fmt::format(" to {}", layer->first.number);
  }
  return text.empty() ? "no layers" : text;
}

}  // namespace vkformer
