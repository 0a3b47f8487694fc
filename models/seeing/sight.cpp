#include "models/seeing/sight.h"

#include <algorithm>

#include "models/seeing/eye_files.h"
#include "models/seeing/stored_eyes.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// What positions of pictures are in a text where no token is: Unicode's "object replacement character".
constexpr const char* unspelled_position = "\xEF\xBF\xBC";

/// `ids` of a text, behind the special tokens that `around` has in front of the same ones.
std::vector<int32_t> with_front(std::vector<int32_t> ids, const std::vector<int32_t>& around) {
  if (around.empty() || (!ids.empty() && around.front() == ids.front())) return ids;
  const auto front = ids.empty() ? around.begin() + 1 : std::ranges::search(around, ids).begin();
  ids.insert(ids.begin(), around.begin(), front);
  return ids;
}

}  // namespace

Sight::Sight(Backend& backend, const std::filesystem::path& folder, const Model& text, const PromptText& tokenizer,
             const std::string& dtype, const std::filesystem::path& mmproj)
    : tokenizer_(tokenizer) {
  try {
    EyeFiles files = eye_files(folder, mmproj, tokenizer, text.vocabulary);
    Eyes& eyes = files.eyes;
    store_eyes_as(eyes, files.weights, dtype);
    spelled_ = files.unspelled.empty();
    const std::string position = spelled_ ? tokenizer.piece(eyes.token) : unspelled_position;
    const std::string mark = spelled_ ? position : files.unspelled;
    const SeenPictures::Marks marks{.vocabulary = text.vocabulary,
                                    .token = eyes.token,
                                    .placed = spelled_ ? eyes.token : unspelled_id,
                                    .mark = eyes.mark.empty() ? mark : eyes.mark};
    reader_ = std::make_unique<PictureReader>(backend, std::move(eyes), files.processor, position, files.weights);
    check(!position.empty(), "{}: its tokenizer has no token {}, which stands for pictures",
          printable(folder.generic_string()), marks.token);
    pictures_ = std::make_unique<SeenPictures>(
        marks, [this](const Image& image) { return reader_->prepared(image); },
        [this](const PreparedPicture& picture) { return reader_->read(picture); });
  } catch (const Error& error) {
    why_not_ = error.what();  // matters only where a picture comes
  }
}

void Sight::need() const { check(there(), "{}", why_not_); }

int64_t Sight::bytes() const { return there() ? reader_->eyes().weight_bytes() : 0; }

SeenPictures::Shown Sight::show(std::span<const std::byte> bytes, const std::string& name) {
  check(there(), "{}: nobody can see it: {}", name, why_not_);
  return pictures_->show(bytes, name);
}

SeenPictures::Shown Sight::show_file(const std::string& file) {
  if (const auto known = files_.find(file); known != files_.end()) return known->second;
  return files_[file] = show(MappedFile(file).bytes(), printable(file));
}

std::vector<int32_t> Sight::encoded(std::string_view text, std::span<const SeenPictures::Shown> pictures) const {
  if (!there()) return tokenizer_.encode_as_it_is(text);
  const std::string whole = pictures_->with_pictures(text, pictures);
  if (!spelled_) return pictures_->placed(encoded_between(whole), pictures);
  std::vector<int32_t> ids = tokenizer_.encode_as_it_is(whole);
  if (ids.empty()) return ids;
  const std::vector<int32_t> around = tokenizer_.encode(whole);
  return pictures_->placed(around.front() == ids.front() ? std::move(ids) : around, pictures);
}

std::vector<int32_t> Sight::encoded_between(std::string_view text) const {
  const std::string_view position = unspelled_position;
  std::vector<int32_t> ids;
  for (size_t at = 0;; at += position.size()) {
    const std::string_view words = text.substr(at, text.find(position, at) - at);
    std::vector<int32_t> part = tokenizer_.encode_line(words, false).ids;
    if (at == 0) part = with_front(std::move(part), tokenizer_.encode_line(words, true).ids);
    ids.insert(ids.end(), part.begin(), part.end());
    if ((at += words.size()) == text.size()) break;
    ids.push_back(unspelled_id);
  }
  return ids;
}

std::vector<int32_t> Sight::as_tokens(std::vector<int32_t> ids) const {
  return there() ? pictures_->as_tokens(std::move(ids)) : ids;
}

void Sight::open(Generator& generator) {
  if (!there()) return;
  const Eyes& eyes = reader_->eyes();
  generator.show({.row = [this](int32_t id) { return pictures_->row(id); },
                  .columns = eyes.any_size ? eyes.any_size->parts : 1,
                  .place = [this](int32_t id) { return pictures_->place(id); }});
}

}  // namespace vkformer
