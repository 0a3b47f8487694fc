#pragma once
// The whole numbers from 0 to some last one, shared out between training, validation and test.

#include <cstdint>
#include <optional>

namespace vkformer {

/// No number is in two parts, and equal settings give equal parts. Small numbers, of whose words all others are made,
/// are trained on: those below 100, or below a tenth of the last where that is less. The others are shuffled. A part is
/// never held in memory, so the last number may be large.
class NumberSplit {
 public:
  enum class Part : uint8_t { train, valid, test };

  struct Settings {
    int64_t last = 9999;           ///< the largest number
    std::optional<int64_t> train;  ///< most training numbers; none: all that are left
    /// Numbers of the other parts; none: 1000, or a tenth of all where that is less.
    std::optional<int64_t> valid, test;
    uint32_t seed = 1;
  };

  /// Throws UsageError when there are too few numbers for the sizes asked for.
  explicit NumberSplit(const Settings& settings);

  int64_t size(Part part) const;
  /// Number `index` of a part, from 0: for training the small ones in order, then shuffled ones.
  int64_t number(Part part, int64_t index) const;

 private:
  uint32_t seed_;
  int64_t small_, shuffled_;  ///< how many numbers there are of each kind
  int64_t train_, valid_, test_;
};

}  // namespace vkformer
