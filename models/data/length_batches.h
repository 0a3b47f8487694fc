#pragma once
// Examples of unlike lengths in batches of a few recorded shapes: those of like length come together, so that little is
// padding, in an order that follows from the seed.

#include <cstdint>
#include <span>
#include <vector>

namespace vkformer {

/// Positions of one example; without an encoder `source` is 0.
struct ExampleLength {
  int64_t source = 0, target = 0;
  int64_t longest() const { return source > target ? source : target; }
};

class LengthBatches {
 public:
  struct Settings {
    int64_t positions = 4096;  ///< most positions of a batch, padding included, on the longer side
    int64_t most_rows = 0;     ///< of a batch; 0: no limit but that. Those of one length are shared out evenly
    int64_t multiple = 1;      ///< lengths of shapes are multiples of it
    int64_t most_shapes = 16;
    double padding = 0.08;  ///< share of padding at which no further shape is added
    uint32_t seed = 0;
  };
  /// What examples of up to so many positions, on the longer side, are computed as.
  struct Bucket {
    int64_t length = 0;
    int64_t rows = 0;  ///< of a batch
    std::vector<uint32_t> examples;
  };
  struct Batch {
    size_t bucket = 0;
    std::vector<uint32_t> examples;  ///< at most the bucket's rows
  };

  /// Throws Error when there are no examples.
  LengthBatches(std::span<const ExampleLength> lengths, const Settings& settings);

  /// Adds a shape for those of other examples that are longer than all that these batches hold, if there are any.
  void make_room(std::span<const ExampleLength> others);

  /// Shortest first.
  const std::vector<Bucket>& buckets() const { return buckets_; }
  /// Batches that hold every example once.
  int64_t epoch() const { return epoch_batches_; }
  /// Share of the computed positions of an epoch that is padding, rows without an example included.
  double padding() const { return padding_; }
  /// Batch `number` (0, 1, ...); each epoch is shuffled anew.
  Batch batch(int64_t number) const;
  /// Other examples, in their order, in batches of the same shapes.
  std::vector<Batch> in_order(std::span<const ExampleLength> lengths) const;

 private:
  struct Epoch {
    int64_t number = -1;
    std::vector<Batch> batches;
  };
  Epoch shuffled(int64_t number) const;
  size_t bucket_of(const ExampleLength& example) const;
  void append_batches(std::vector<Batch>& batches, size_t bucket, std::span<const uint32_t> examples) const;

  Settings settings_;
  std::vector<Bucket> buckets_;
  int64_t epoch_batches_ = 0;
  double padding_ = 0;
  mutable Epoch current_;  ///< the last one asked for
};

/// At most `most` lengths, of which examples take the shortest that holds them, so that the fewest positions are
/// padding; fewer where that share is at most `padding`. `counts[n]`: examples of length n; `tokens`: of all examples,
/// of `sides` sides.
std::vector<int64_t> choose_lengths(std::span<const int64_t> counts, int64_t tokens, int64_t sides, int64_t multiple,
                                    int64_t most, double padding);

}  // namespace vkformer
