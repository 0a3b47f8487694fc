#include "runtime/split/layer_parts.h"

#include <algorithm>
#include <numeric>

#include "runtime/check.h"

namespace vkformer {

LayerParts::LayerParts(const StoreLayout& weights, std::span<const double> shares) {
  std::map<LayerName, int64_t> layer_bytes;
  std::vector<std::string> stacks, behind;  // in their order
  int64_t before = 0, all = 0;
  for (size_t block = 0; block < weights.blocks().size(); ++block)
    for (const StoreLayout::Part& part : weights.parts(block)) {
      const int64_t bytes = weights.block_memories()[block] == BlockMemory::device ? part.type.bytes() : 0;
      const bool constant = weights.block_names()[block] == "constants";
      all += bytes;
      if (const auto layer = layer_name_of(part.name); layer && !constant) {
        layer_bytes[*layer] += bytes;
        if (std::ranges::count(stacks, layer->stack) == 0) stacks.push_back(layer->stack);
        if (part.type.shape.rank() > 1) behind.clear();  // norms and biases stand at the end of a block
      } else if (constant || part.type.shape.rows() == 1) {
        others_[part.name] = everywhere;
      } else {
        others_[part.name] = 0;
        behind.push_back(part.name);
        if (layer_bytes.empty()) before += bytes;
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
