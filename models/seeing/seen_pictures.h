#pragma once
// Pictures in texts: each has ids of its own behind the vocabulary, one for each position that it takes. So prompts are
// compared, cut and kept like any others, and no two pictures are taken for one another.

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "models/images/image.h"

namespace vkformer {

class SeenPictures {
 public:
  /// `prepare` makes of a picture, on the thread that shows it, what `read` then turns into what stands in a text,
  /// [positions, C], on the thread that runs the model. `token` stands for a picture in a text.
  struct Sizes {
    int64_t vocabulary = 0, positions = 0;
    int32_t token = 0;
  };
  using Prepare = std::function<std::vector<float>(const Image&)>;
  using Read = std::function<std::vector<float>(std::span<const float> prepared)>;
  SeenPictures(const Sizes& sizes, Prepare prepare, Read read)
      : sizes_(sizes), prepare_(std::move(prepare)), read_(std::move(read)) {}

  /// A picture that was shown; it is kept as long as anybody has this.
  struct Picture;
  using Shown = std::shared_ptr<Picture>;
  /// The picture in a file's bytes; the same one for the same bytes, while it is kept. `name` is what errors call it.
  /// Throws Error like read_image().
  Shown show(std::span<const std::byte> bytes, const std::string& name);

  /// A text's ids with the pictures in place of the tokens that stand for them, in their order. Throws Error where
  /// there are not as many of these as pictures.
  std::vector<int32_t> placed(std::span<const int32_t> ids, std::span<const Shown> pictures) const;
  /// The same ids with a token for each position of a picture, as transformers' processors give them.
  std::vector<int32_t> as_tokens(std::vector<int32_t> ids) const;
  /// What stands at an id behind the vocabulary, see Generator::show(); the picture is read when it is first asked for.
  /// On one thread alone.
  std::span<const float> row(int32_t id);

  /// Nobody's pictures are kept up to this many, so that a conversation that comes again finds its own.
  static constexpr size_t most_kept = 16;

 private:
  Shown known(std::span<const std::byte> bytes);  ///< with the lock; nullptr: none with these

  Sizes sizes_;
  Prepare prepare_;
  Read read_;
  std::mutex decoding_;
  std::mutex mutex_;  ///< of what follows
  std::deque<Shown> pictures_;
  int64_t shown_ = 0;
};

}  // namespace vkformer
