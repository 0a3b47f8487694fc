#pragma once
// The layer that a tensor of a model belongs to, told by its name: the first part between dots that is a number is the
// layer's ("model.layers.3.mlp.down_proj.weight", "cache.3, row 0").

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

namespace vkformer {

/// What a layer's tensors have in common: "model.layers." and 3.
struct LayerName {
  std::string stack;
  int64_t number = 0;
  auto operator<=>(const LayerName&) const = default;
};
/// The layer of a tensor of that name, if it is one's.
std::optional<LayerName> layer_name_of(const std::string& tensor);

}  // namespace vkformer
