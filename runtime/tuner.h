#pragma once
// Measures kernels where they run: the whole program is compiled with one candidate for each kind of node and timed
// node by node, so that every kernel finds its operands and the caches as in the real run, and one run measures all
// nodes.

#include <functional>

#include "runtime/backend.h"
#include "runtime/tuning.h"

namespace vkformer {

/// What tuning chose for one kind of node.
struct TunedKind {
  std::string signature;
  int64_t count = 0;  ///< such nodes in the program
  std::string heuristic, chosen;
  double heuristic_seconds = 0, chosen_seconds = 0;  ///< of one node, the least seen
};

struct TunedProgram {
  /// A candidate with which the program could not be made or run.
  struct Failure {
    std::string signature, candidate, message;
  };
  std::vector<Failure> failures;
  std::vector<TunedKind> kinds;  ///< with more than one candidate and no choice yet; those that gain most first
  /// The whole program with what was known before and with the new choices, alternately, the least of each; 0 when
  /// nothing new was chosen.
  double seconds_before = 0, seconds_after = 0;
  bool kept = true;  ///< false: the program as a whole became no faster, so the heuristics' kernels are the choices
  /// Seconds that the choices save by the times of the single nodes.
  double predicted_gain() const;
};

/// Measures the kinds of live nodes of `graph` that have several candidates and no choice in `tuning`, and adds their
/// choices to it: a WarmUp and one sample a candidate, those slower than 1.5 times the best are dropped, the others
/// sampled again; the least time wins, the heuristic's choice within 3 % of it. When the program as a whole is no
/// faster with them, the heuristics' kernels become the choices. `fill` writes the program's inputs; runs change what
/// the program changes in `store`. A candidate that fails is left out; nothing else is lost by it. `progress`
/// (optional) hears how many of how many rounds are done. Throws Error on a device without timestamps, where the
/// heuristics' kernels fail, and when the device is lost.
TunedProgram tune_program(Backend& backend, const Graph& graph, const std::shared_ptr<Store>& store,
                          const std::function<void(Program&)>& fill, Tuning& tuning,
                          const std::function<void(int, int)>& progress = {});

}  // namespace vkformer
