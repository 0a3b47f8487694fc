#include "models/generation/pictured_positions.h"

#include <algorithm>
#include <iterator>

#include "runtime/check.h"

namespace vkformer {

std::vector<float> picture_rows(const ShownPictures& pictures, std::span<int32_t> ids, int64_t vocabulary,
                                int64_t width) {
  std::vector<float> rows(ids.size() * static_cast<size_t>(width), 0);
  for (auto to = rows.begin(); int32_t & id : ids) {
    if (id >= vocabulary) {
      const std::span<const float> row = pictures.row(id);
      check(std::ssize(row) == width, "a picture has {} columns, the model {}", row.size(), width);
      std::ranges::copy(row, to);
      id = -1;
    }
    to += width;
  }
  return rows;
}

std::vector<int32_t> keys_seen(const SeenShape& shape, int64_t begin, int64_t length, int64_t window) {
  std::vector<int32_t> seen(static_cast<size_t>(shape.positions * shape.keys), 0);
  for (int64_t q = 0; q < length; ++q) {
    const int64_t first = window > 0 ? std::clamp<int64_t>(begin + q + 1 - window, 0, begin) : 0;
    const auto row = seen.begin() + q * shape.keys;
    std::fill(row + first, row + begin + length, 1);
  }
  return seen;
}

std::vector<float> angle_rows(std::span<const CountedAs> counted,
                              const std::function<std::vector<float>(const CountedAs&)>& angles, int64_t values) {
  std::vector<float> rows;
  for (const CountedAs& place : counted) std::ranges::copy(angles(place), std::back_inserter(rows));
  rows.resize(static_cast<size_t>(values), 0);
  return rows;
}

int64_t PicturedPositions::at(int64_t position) const {
  int64_t uncounted = 0;
  for (const End& end : ends_)
    if (end.position <= position) uncounted = end.uncounted;
  return position - uncounted;
}

std::vector<CountedAs> PicturedPositions::go_on(int64_t first, std::span<const int32_t> ids, int64_t vocabulary,
                                                const std::function<PicturePlace(int32_t id)>& place_of) {
  rewind(first);
  std::vector<CountedAs> counted;
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
