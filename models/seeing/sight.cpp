#include "models/seeing/sight.h"

#include "models/model_files.h"
#include "models/seeing/stored_eyes.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

Sight::Sight(Backend& backend, const std::filesystem::path& folder, const Model& text, const PromptText& tokenizer,
             const std::string& dtype)
    : tokenizer_(tokenizer) {
  try {
    Eyes eyes = make_eyes(load_model_json(folder, "config.json"));
    store_eyes_as(eyes, folder, dtype);
    const std::string position = tokenizer.piece(eyes.token);
    const SeenPictures::Marks marks{text.vocabulary, eyes.token, eyes.mark.empty() ? position : eyes.mark};
    reader_ = std::make_unique<PictureReader>(backend, std::move(eyes), ImageProcessor::from_folder(folder), position,
                                              folder);
    check(!position.empty(), "{}: its tokenizer has no token {}, which stands for pictures",
          printable(folder.generic_string()), marks.token);
    pictures_ = std::make_unique<SeenPictures>(
        marks, [this](const Image& image) { return reader_->prepared(image); },
        [this](const PreparedPicture& picture) { return reader_->read(picture); });
  } catch (const Error& error) {
    why_not_ = error.what();  // matters only where a picture comes
  }
}

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
  std::vector<int32_t> ids = tokenizer_.encode_as_it_is(whole);
  if (ids.empty()) return ids;
  const std::vector<int32_t> around = tokenizer_.encode(whole);
  return pictures_->placed(around.front() == ids.front() ? std::move(ids) : around, pictures);
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
