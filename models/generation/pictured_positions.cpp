#include "models/generation/pictured_positions.h"

#include <algorithm>

namespace vkformer {

int64_t PicturedPositions::at(int64_t position) const {
  int64_t uncounted = 0;
  for (const End& end : ends_)
    if (end.position <= position) uncounted = end.uncounted;
  return position - uncounted;
}

std::vector<std::array<int64_t, 3>> PicturedPositions::go_on(int64_t first, std::span<const int32_t> ids,
                                                             int64_t vocabulary,
                                                             const std::function<PicturePlace(int32_t id)>& place_of) {
  rewind(first);
  std::vector<std::array<int64_t, 3>> counted;
  for (const int32_t id : ids) {
    const int64_t position = first + static_cast<int64_t>(counted.size());
    if (id < vocabulary) {
      counted.push_back({at(position), at(position), at(position)});
      continue;
    }
    const PicturePlace place = place_of(id);
    const int64_t begin = at(position - place.index);
    counted.push_back({begin, begin + place.index / place.columns, begin + place.index % place.columns});
    const int64_t positions = place.rows * place.columns;
    if (place.index + 1 < positions) continue;
    const int64_t counting = std::max(place.rows, place.columns);
    ends_.push_back({position + 1, position - at(position) + positions - counting});
  }
  return counted;
}

void PicturedPositions::rewind(int64_t position) {
  while (!ends_.empty() && ends_.back().position > position) ends_.pop_back();
}

}  // namespace vkformer
