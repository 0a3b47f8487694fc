#include "runtime/layer_name.h"

#include <algorithm>
#include <charconv>

namespace vkformer {

std::optional<LayerName> layer_name_of(const std::string& tensor) {
  for (size_t begin = 0; begin < tensor.size();) {
    const size_t end = std::min(tensor.find_first_of(".,", begin), tensor.size());
    int64_t number = 0;
    const auto [stop, error] = std::from_chars(tensor.data() + begin, tensor.data() + end, number);
    if (error == std::errc() && stop == tensor.data() + end) return LayerName{tensor.substr(0, begin), number};
    begin = end + 1;
  }
  return {};
}

}  // namespace vkformer
