#pragma once
// What a template may take: it comes with a model, and nobody looked at it.

#include <cstddef>
#include <cstdint>

namespace vkformer::jinja {

class Budget {
 public:
  /// Counts steps, or values looked at. Throws Error when they are too many.
  void step(int64_t count = 1);
  /// Counts steps for work on every character of texts of this weight (see Extent).
  void look_through(int64_t weight) { step(4 * weight); }
  /// Counts bytes of values before they are made; none is given back. Throws Error when they are too many.
  void make(size_t bytes);

  /// An expression, a tag's body or a call in progress. Throws Error when too many lie in each other.
  class Level {
   public:
    explicit Level(Budget& budget);
    ~Level() { --budget_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

  static constexpr int64_t most_steps = 20'000'000;
  static constexpr int64_t most_bytes = int64_t{256} << 20;
  static constexpr int most_levels = 400;

 private:
  int64_t steps_ = 0, bytes_ = 0;
  int levels_ = 0;
};

}  // namespace vkformer::jinja
