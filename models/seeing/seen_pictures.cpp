#include "models/seeing/seen_pictures.h"

#include <algorithm>
#include <numeric>

#include "models/images/image_file.h"
#include "runtime/check.h"

namespace vkformer {

struct SeenPictures::Picture {
  std::vector<std::byte> bytes;
  int32_t first = 0;  ///< its first id
  size_t size = 0;    ///< bytes as it came, and of what `prepared` had at first
  PreparedPicture prepared;
  std::vector<float> states;  ///< once it was read, as `prepared` has no views any more

  int32_t end() const { return first + static_cast<int32_t>(prepared.positions); }
};

namespace {

size_t bytes_of(const PreparedPicture& picture) {
  size_t values = 0;
  for (const View& view : picture.views) {
    for (const auto& [name, floats] : view.floats) values += floats.size();
    for (const auto& [name, integers] : view.integers) values += integers.size();
  }
  return values * sizeof(float);
}

}  // namespace

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
  {
    const std::lock_guard one_at_a_time(decoding_);  // each may take hundreds of MB meanwhile
    picture->prepared = prepare_(read_image(bytes, name));
  }
  picture->bytes.assign(bytes.begin(), bytes.end());
  picture->size = bytes.size() + bytes_of(picture->prepared);
  const std::lock_guard lock(mutex_);
  if (Shown other = known(bytes)) return other;  // shown meanwhile
  const int64_t first = marks_.vocabulary + next_, positions = picture->prepared.positions;
  check(first + positions <= INT32_MAX, "{}: no more pictures can be told apart; start again", name);
  picture->first = static_cast<int32_t>(first);
  next_ += positions;
  pictures_.push_back(picture);
  const auto too_many = [this] {
    const auto add = [](size_t sum, const Shown& one) { return sum + one->size; };
    return pictures_.size() > most_kept ||
           std::accumulate(pictures_.begin(), pictures_.end(), size_t{0}, add) > most_bytes;
  };
  for (auto one = pictures_.begin(); one != pictures_.end() && too_many();)
    one = one->use_count() == 1 ? pictures_.erase(one) : one + 1;
  return picture;
}

int64_t SeenPictures::positions_of(const Shown& picture) { return picture->prepared.positions; }

std::string SeenPictures::with_pictures(std::string_view text, std::span<const Shown> pictures) const {
  std::string whole;
  size_t places = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t mark = text.find(marks_.mark, at);
    whole += text.substr(at, mark - at);
    if (mark == text.npos) break;
    if (places < pictures.size()) whole += pictures[places]->prepared.text;
    ++places;
    at = mark + marks_.mark.size();
  }
  check(
      places == pictures.size(),
      "the text has places for pictures: {}, shown were: {}; leave the mark of a picture out of the words, or show as "
      "many",
      places, pictures.size());
  return whole;
}

std::vector<int32_t> SeenPictures::placed(std::vector<int32_t> ids, std::span<const Shown> pictures) const {
  auto place = ids.begin();
  for (const Shown& picture : pictures)
    for (int32_t id = picture->first; id < picture->end(); ++id) {
      place = std::find(place, ids.end(), marks_.placed);
      check(place != ids.end(), "the tokenizer knows no {}, by which pictures have places; take the model's own",
            marks_.mark);
      *place = id;
    }
  check(std::ranges::find(ids, marks_.placed) == ids.end(),
        "the words have {}, which stands for pictures; leave it out of them",
        marks_.placed == marks_.token ? marks_.mark : "the character U+FFFC (it comes with copied pictures)");
  return ids;
}

std::vector<int32_t> SeenPictures::as_tokens(std::vector<int32_t> ids) const {
  for (int32_t& id : ids)
    if (id >= marks_.vocabulary) id = marks_.token;
  return ids;
}

SeenPictures::Shown SeenPictures::picture_of(int32_t id) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::ranges::find_if(pictures_, [&](const Shown& one) { return id >= one->first && id < one->end(); });
  check(found != pictures_.end(), "a picture of the text is not kept any more; show it again");
  return *found;
}

PicturePlace SeenPictures::place(int32_t id) {
  const Shown picture = picture_of(id);
  return {.index = id - picture->first, .rows = picture->prepared.rows, .columns = picture->prepared.columns};
}

std::span<const float> SeenPictures::row(int32_t id) {
  const Shown picture = picture_of(id);
  if (picture->states.empty()) {
    picture->states = read_(picture->prepared);
    picture->prepared.views.clear();
  }
  const size_t width = picture->states.size() / static_cast<size_t>(picture->prepared.positions);
  return std::span(picture->states).subspan(static_cast<size_t>(id - picture->first) * width, width);
}

}  // namespace vkformer
