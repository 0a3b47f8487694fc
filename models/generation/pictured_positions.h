#pragma once
// Where pictures stand in a text, and what its positions count as then.

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace vkformer {

/// The place of an id in its picture, of `rows` x `columns` positions row by row.
struct PicturePlace {
  int64_t index = 0;
  int64_t rows = 1, columns = 1;
};

/// What a Generator is told of pictures, which have ids behind the vocabulary.
struct ShownPictures {
  std::function<std::span<const float>(int32_t id)> row = {};  ///< [columns * C] that stand there
  int64_t columns = 1;                                         ///< how many times the model's: see Pass::pictured
  std::function<PicturePlace(int32_t id)> place = {};
  explicit operator bool() const { return static_cast<bool>(row); }
};

/// Of a text in which a picture has rows and columns (Qwen2-VL, "M-RoPE"): all of it begins where the text before it
/// ends, and the text behind it goes on as if it had as many positions as its longer side.
class PicturedPositions {
 public:
  /// What a position counts as at which a text goes on.
  int64_t at(int64_t position) const;
  /// Goes on by the ids of positions from `first` on: what each counts as, by frame, row and column. `place_of` knows
  /// those behind the vocabulary.
  std::vector<std::array<int64_t, 3>> go_on(int64_t first, std::span<const int32_t> ids, int64_t vocabulary,
                                            const std::function<PicturePlace(int32_t id)>& place_of);
  /// As if nothing from `position` on were there.
  void rewind(int64_t position);

 private:
  struct End {
    int64_t position = 0;   ///< behind a picture
    int64_t uncounted = 0;  ///< positions up to there that do not count
  };
  std::vector<End> ends_;
};

}  // namespace vkformer
