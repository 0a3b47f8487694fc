#include "models/seeing/sight.h"

#include "models/model_files.h"
#include "models/model_folder.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

Sight::Sight(Backend& backend, const std::filesystem::path& folder, const Model& text, const std::string& dtype) {
  try {
    Eyes eyes = make_eyes(load_model_json(folder, "config.json"));
    store_weights_as(eyes.model, folder, dtype);
    const SeenPictures::Sizes sizes{text.vocabulary, eyes.positions, eyes.token};
    reader_ = std::make_unique<PictureReader>(backend, std::move(eyes), ImageProcessor::from_folder(folder), folder);
    pictures_ = std::make_unique<SeenPictures>(
        sizes, [this](const Image& image) { return reader_->prepared(image); },
        [this](std::span<const float> prepared) { return reader_->read(prepared); });
  } catch (const Error& error) {
    why_not_ = error.what();  // matters only where a picture comes
  }
}

std::string Sight::mark(const PromptText& tokenizer) const {
  return there() ? tokenizer.piece(reader_->eyes().token) : "";
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

std::vector<int32_t> Sight::encoded(const PromptText& tokenizer, std::string_view text,
                                    std::span<const SeenPictures::Shown> pictures) const {
  const std::vector<int32_t> ids = tokenizer.encode_as_it_is(text);
  if (!there() || ids.empty()) return ids;
  const std::vector<int32_t> whole = tokenizer.encode(text);
  return pictures_->placed(whole.front() == ids.front() ? ids : whole, pictures);
}

std::vector<int32_t> Sight::as_tokens(std::vector<int32_t> ids) const {
  return there() ? pictures_->as_tokens(std::move(ids)) : ids;
}

void Sight::open(Generator& generator) {
  if (there()) generator.show([this](int32_t id) { return pictures_->row(id); });
}

}  // namespace vkformer
