#pragma once
// Decoding that runs ahead: the device begins a token's run before the host has read the one before it.

#include <functional>
#include <utility>

#include "models/generation/sampling.h"
#include "runtime/backend.h"

namespace vkformer {

/// What decoding ran ahead of the host.
struct AheadCounts {
  int64_t begun = 0;  ///< runs
  int64_t used = 0;   ///< of these
};

/// Two equal programs, each a run of one token "ids" [1, 1], that run in turns. Each takes as its token what the other
/// has chosen, unless the host says another.
///
/// A wrong guess costs up to a run, a right one saves the host's time, often a small part of that. So it runs ahead
/// only behind `enough` right guesses in a row: where they are right with probability p, p^enough of the runs are ahead
/// and 1 - p of these in vain, together at most 1 / (e * enough), about one in a hundred. Before the first it is as if
/// there had been all but `alone` of them, since a program learns from runs with none before it in the queue how it is
/// to be cut into submissions.
class DecodePair {
 public:
  static constexpr int enough = 32, alone = 4;

  /// `first` must outlive it. `choice`: the output that begins with the chosen token.
  DecodePair(Program& first, std::unique_ptr<Program> second, std::string choice);
  /// Runs a token at a position and gives the program that has its results. `write_position`: writes all other inputs
  /// of a run at a position. `goes_on`: the next position may be run, too. Throws what programs do.
  Program& run(int32_t token, int64_t position, bool goes_on,
               const std::function<void(Program& program, int64_t position)>& write_position);
  /// The caches are no longer what the last run left: what is under way is of no use, and waited for. Throws what
  /// programs do.
  void forget() {
    next_ = -1;
    if (std::exchange(ahead_, false)) programs_[turn_]->finish();
  }
  const AheadCounts& counts() const { return counts_; }

 private:
  Program* programs_[2];
  std::unique_ptr<Program> second_;
  std::string choice_;
  size_t turn_ = 0;             ///< who runs next, or is under way
  int64_t next_ = -1;           ///< position behind the last run; -1: there is none
  bool ahead_ = false;          ///< the run at that position is under way
  int32_t guess_ = 0;           ///< its token
  int right_ = enough - alone;  ///< guesses in a row
  AheadCounts counts_;
};

/// Writes by what one of `choices` is drawn behind a position (see can_run_ahead()): the likeliest where there are no
/// draws.
void write_draw(Program& program, const std::optional<TextDraws>& draws, int64_t position, int64_t choices);

}  // namespace vkformer
