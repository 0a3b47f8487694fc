#include "models/seeing/seen_pictures.h"

#include <algorithm>

#include "models/images/image_file.h"
#include "runtime/check.h"

namespace vkformer {

struct SeenPictures::Picture {
  std::vector<std::byte> bytes;
  int32_t first = 0;            ///< its first id
  std::vector<float> prepared;  ///< until it was read
  std::vector<float> states;
};

SeenPictures::Shown SeenPictures::known(std::span<const std::byte> bytes) {
  const auto found =
      std::ranges::find_if(pictures_, [&](const Shown& one) { return std::ranges::equal(one->bytes, bytes); });
  if (found == pictures_.end()) return nullptr;
  Shown picture = *found;
  pictures_.erase(found);
  pictures_.push_back(picture);  // the last one that would be forgotten
  return picture;
}

SeenPictures::Shown SeenPictures::show(std::span<const std::byte> bytes, const std::string& name) {
  {
    const std::lock_guard lock(mutex_);
    if (Shown picture = known(bytes)) return picture;
  }
  const auto picture = std::make_shared<Picture>();
  picture->bytes.assign(bytes.begin(), bytes.end());
  {
    const std::lock_guard one_at_a_time(decoding_);  // each may take hundreds of MB meanwhile
    picture->prepared = prepare_(read_image(bytes, name));
  }
  const std::lock_guard lock(mutex_);
  if (Shown other = known(bytes)) return other;  // shown meanwhile
  const int64_t first = sizes_.vocabulary + shown_++ * sizes_.positions;
  check(first + sizes_.positions <= INT32_MAX, "{}: no more pictures can be told apart; start again", name);
  picture->first = static_cast<int32_t>(first);
  pictures_.push_back(picture);
  for (auto one = pictures_.begin(); one != pictures_.end() && pictures_.size() > most_kept;)
    one = one->use_count() == 1 ? pictures_.erase(one) : one + 1;
  return picture;
}

std::vector<int32_t> SeenPictures::placed(std::span<const int32_t> ids, std::span<const Shown> pictures) const {
  const auto places = static_cast<size_t>(std::ranges::count(ids, sizes_.token));
  check(
      places == pictures.size(),
      "the text has places for pictures: {}, shown were: {}; leave the mark of a picture out of the words, or show as "
      "many",
      places, pictures.size());
  std::vector<int32_t> placed;
  auto next = pictures.begin();
  for (const int32_t id : ids) {
    if (id != sizes_.token) {
      placed.push_back(id);
      continue;
    }
    const int32_t first = (*next++)->first;
    for (int32_t i = 0; i < static_cast<int32_t>(sizes_.positions); ++i) placed.push_back(first + i);
  }
  return placed;
}

std::vector<int32_t> SeenPictures::as_tokens(std::vector<int32_t> ids) const {
  for (int32_t& id : ids)
    if (id >= sizes_.vocabulary) id = sizes_.token;
  return ids;
}

std::span<const float> SeenPictures::row(int32_t id) {
  Shown picture;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(
        pictures_, [&](const Shown& one) { return id >= one->first && id < one->first + sizes_.positions; });
    if (found != pictures_.end()) picture = *found;
  }
  check(picture != nullptr, "a picture of the text is not kept any more; show it again");
  if (picture->states.empty()) {
    picture->states = read_(picture->prepared);
    picture->prepared = {};
  }
  const size_t width = picture->states.size() / static_cast<size_t>(sizes_.positions);
  return std::span(picture->states).subspan(static_cast<size_t>(id - picture->first) * width, width);
}

}  // namespace vkformer
