#pragma once
// All that a model that writes needs to be shown pictures, if it can see.

#include <map>
#include <optional>

#include "models/generation/generation.h"
#include "models/seeing/picture_reader.h"
#include "models/seeing/seen_pictures.h"
#include "models/text/prompt_text.h"

namespace vkformer {

class Sight {
 public:
  /// Of the model in `folder`; `text`: the part that writes; `dtype`: of weights, see store_weights_as(); `mmproj`: the
  /// file of a GGUF file's eyes, or empty. Nothing is loaded before a picture is run. `backend` and `tokenizer` must
  /// outlive it.
  Sight(Backend& backend, const std::filesystem::path& folder, const Model& text, const PromptText& tokenizer,
        const std::string& dtype, const std::filesystem::path& mmproj = {});

  bool there() const { return pictures_ != nullptr; }
  /// Throws Error, saying why, for a model that can't see.
  void need() const;
  /// What stands for a picture in a text; "" for a model that can't see.
  std::string mark() const { return there() ? pictures_->mark() : ""; }
  int64_t bytes() const;  ///< of the weights; 0 for a model that can't see
  /// Of the part that writes: what the eyes use is not extra.
  void share_with(Weights& text) const {
    if (there()) text.share_with(reader_->weights());
  }

  /// See SeenPictures::show(). Throws Error, saying why, for a model that can't see.
  SeenPictures::Shown show(std::span<const std::byte> bytes, const std::string& name);
  /// A file's, which is read once and kept as long as this object.
  SeenPictures::Shown show_file(const std::string& file);
  /// The ids of a conversation as its template writes it; of a model that sees with its pictures, and, as transformers'
  /// processors do it, with the special tokens around a text that does not begin with them.
  std::vector<int32_t> encoded(std::string_view text, std::span<const SeenPictures::Shown> pictures) const;
  /// See SeenPictures::as_tokens().
  std::vector<int32_t> as_tokens(std::vector<int32_t> ids) const;
  /// Lets the generator run such ids.
  void open(Generator& generator);

 private:
  /// The ids of a text whose positions of pictures no token stands for, with unspelled_id in their places.
  std::vector<int32_t> encoded_between(std::string_view text) const;

  const PromptText& tokenizer_;
  bool spelled_ = true;  ///< whether a token stands for such a position
  std::string why_not_;
  std::unique_ptr<PictureReader> reader_;
  std::unique_ptr<SeenPictures> pictures_;
  std::map<std::string, SeenPictures::Shown> files_;
};

}  // namespace vkformer
