#pragma once
// Which of several devices has each layer of a model, told by the names of its tensors.

#include <map>
#include <span>
#include <string>

#include "runtime/layer_name.h"
#include "runtime/store_layout.h"

namespace vkformer {

/// Layers follow one another on the devices. What belongs to none is with the last one where it stands behind all of
/// them (the head), else on the first device (embeddings); small tensors (norms, biases) and constants are on all.
class LayerParts {
 public:
  static constexpr int everywhere = -1;

  /// Cuts the layers of `layout` where the device before has its share, of which there is one a device, of all weights
  /// (BlockMemory::weights). Those in host memory do not count.
  LayerParts(const StoreLayout& layout, std::span<const double> shares);

  /// The device that has a tensor of the weights, or a cache or state of a layer. What nobody knows is on the first.
  int of(const std::string& tensor) const;
  /// "layers 0 to 11", or what else a device has.
  std::string describe(int part) const;

 private:
  std::map<LayerName, int> layers_;
  std::map<std::string, int> others_;
};

}  // namespace vkformer
