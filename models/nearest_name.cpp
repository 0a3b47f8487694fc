#include "models/nearest_name.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace vkformer {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_name(std::string_view given, std::span<const std::string> names) {
  std::string nearest;
  size_t least = given.size() / 3 + 1;
  for (const std::string& name : names) {
    const bool begins =
        std::min(given.size(), name.size()) >= 4 && (name.starts_with(given) || given.starts_with(name));
    const size_t distance = begins ? 1 : edit_distance(given, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

}  // namespace vkformer
