#pragma once
// Pictures in texts: each has ids of its own behind the vocabulary, one for each position that it takes. So prompts are
// compared, cut and kept like any others, and no two pictures are taken for one another.

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "models/generation/pictured_positions.h"
#include "models/seeing/picture_reader.h"

namespace vkformer {

/// In place of a token where a vocabulary has none for pictures.
inline constexpr int32_t unspelled_id = -1;

class SeenPictures {
 public:
  /// `prepare` makes of a picture, on the thread that shows it, what `read` then turns into what stands in a text,
  /// [positions, C], on the thread that runs the model. `token` stands for a position of one, in ids that are to be
  /// placed `placed` does, and `mark`, its text, for a picture in a text as it is written.
  struct Marks {
    int64_t vocabulary = 0;
    int32_t token = 0, placed = 0;
    std::string mark;
  };
  using Prepare = std::function<PreparedPicture(const Image&)>;
  using Read = std::function<std::vector<float>(const PreparedPicture&)>;
  SeenPictures(Marks marks, Prepare prepare, Read read)
      : marks_(std::move(marks)), prepare_(std::move(prepare)), read_(std::move(read)) {}

  const std::string& mark() const { return marks_.mark; }

  /// A picture that was shown; it is kept as long as anybody has this.
  struct Picture;
  using Shown = std::shared_ptr<Picture>;
  /// The picture in a file's bytes; the same one for the same bytes, while it is kept. `name` is what errors call it.
  /// Throws Error like read_image().
  Shown show(std::span<const std::byte> bytes, const std::string& name);

  /// A text with what its pictures are in place of their marks, in their order. Throws Error where there are not as
  /// many of these as pictures.
  std::string with_pictures(std::string_view text, std::span<const Shown> pictures) const;
  /// The ids of such a text, with ids of the pictures in place of their tokens.
  std::vector<int32_t> placed(std::vector<int32_t> ids, std::span<const Shown> pictures) const;
  /// The same ids with a token for each position of a picture, as transformers' processors give them.
  std::vector<int32_t> as_tokens(std::vector<int32_t> ids) const;
  /// What stands at an id behind the vocabulary, see Generator::show(); the picture is read when it is first asked for.
  /// On one thread alone.
  std::span<const float> row(int32_t id);
  /// Which of its picture's positions an id is.
  PicturePlace place(int32_t id);

  static int64_t positions_of(const Shown& picture);

  /// Nobody's pictures are kept up to this many, and while they take no more than so many bytes before they are read,
  /// so that a conversation that comes again finds its own.
  static constexpr size_t most_kept = 16, most_bytes = size_t{512} << 20;

 private:
  Shown picture_of(int32_t id);                   ///< throws Error for one that is kept no more
  Shown known(std::span<const std::byte> bytes);  ///< with the lock; nullptr: none with these

  Marks marks_;
  Prepare prepare_;
  Read read_;
  std::mutex decoding_;
  std::mutex mutex_;  ///< of what follows
  std::deque<Shown> pictures_;
  int64_t next_ = 0;  ///< the ids of the next one begin so far behind the vocabulary
};

}  // namespace vkformer
