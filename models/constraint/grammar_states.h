#pragma once
// Which texts a grammar makes, byte by byte.

#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "models/constraint/grammar.h"

namespace vkformer {

/// A grammar's states, made as texts reach them: all places at which a text may stand, each with what is left to come
/// behind it. Few of them are ever reached, and most again and again.
class GrammarStates {
 public:
  using State = int32_t;
  static constexpr State nowhere = -1;  ///< no text of the grammar goes on like this

  /// Throws Error like next(), and for a grammar that makes no text.
  explicit GrammarStates(Grammar grammar);

  /// Of the empty text.
  State start() const { return start_; }
  /// Behind one more byte, or more. Throws Error where a text stands at more places than can be followed.
  State next(State state, uint8_t byte);
  State next(State state, std::string_view bytes);
  /// Whether the grammar makes the text as it is.
  bool ends(State state) const { return places_of_[static_cast<size_t>(state)].front() == 0; }
  size_t size() const { return places_of_.size(); }
  /// About so much memory they take; next() throws Error beyond 256 MiB. What forgets them all keeps that small; states
  /// from before mean nothing then.
  size_t bytes() const { return bytes_; }
  void forget();

 private:
  using Place = uint32_t;
  /// An element, and the place to go on at behind the rule that it is part of. Place 0: nothing is left.
  using Step = std::pair<uint32_t, Place>;

  Place place(uint32_t element, Place behind);
  /// The places of bytes, and the end, that are reached without a byte from these steps.
  std::vector<Place> reached(std::vector<Step> open);
  State state_of(std::vector<Place> places);
  void begin();

  Grammar grammar_;
  State start_ = 0;
  std::vector<Step> steps_;  ///< by place
  std::map<Step, Place> places_;
  std::vector<std::vector<Place>> places_of_;  ///< by state, in order
  std::map<std::vector<Place>, State> states_;
  std::vector<std::array<State, 256>> next_;  ///< by state; of what nobody asked for -2
  size_t bytes_ = 0;
};

}  // namespace vkformer
