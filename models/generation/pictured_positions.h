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

/// What stands at ids behind the vocabulary, which become -1: rows of `width`, zeros for all other ids. Throws Error
/// for pictures of another width.
std::vector<float> picture_rows(const ShownPictures& pictures, std::span<int32_t> ids, int64_t vocabulary,
                                int64_t width);

/// Which keys of a cache the positions of a picture see that is a run of its own, of `length` positions behind `begin`
/// others: all of it and what is before, or with a window what is less than so many positions before them. Rows of
/// `keys`, up to `positions` rows; those of none see nothing.
struct SeenShape {
  int64_t positions = 0, keys = 0;
};
std::vector<int32_t> keys_seen(const SeenShape& shape, int64_t begin, int64_t length, int64_t window = 0);

/// What a position counts as: by frame, row and column of a picture, a text's three times the same.
using CountedAs = std::array<int64_t, 3>;
/// What Model::angles gives for each, with zeros behind them up to so many values.
std::vector<float> angle_rows(std::span<const CountedAs> counted,
                              const std::function<std::vector<float>(const CountedAs&)>& angles, int64_t values);

/// Of a text in which a picture has rows and columns (Qwen2-VL, "M-RoPE"): all of it begins where the text before it
/// ends, and the text behind it goes on as if it had as many positions as its longer side.
class PicturedPositions {
 public:
  /// What a position counts as at which a text goes on.
  int64_t at(int64_t position) const;
  /// Goes on by the ids of positions from `first` on: what each counts as. `place_of` knows
  /// those behind the vocabulary.
  std::vector<CountedAs> go_on(int64_t first, std::span<const int32_t> ids, int64_t vocabulary,
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
