#include "runtime/tuner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>

#include "runtime/measure.h"
#include "runtime/passes/copied_weights.h"

namespace vkformer {

namespace {

constexpr double drop_above = 1.5;        ///< times the best
constexpr double heuristic_keeps = 0.03;  ///< must be beaten by this share
constexpr int passes = 2;                 ///< over the survivors, so that a slow moment does not hit one of them alone
constexpr int pass_runs = 2;              ///< of one program in one pass, at least
constexpr double pass_seconds = 0.05;     ///< of its runs, at least
constexpr int proof_runs = 4;             ///< of the whole program, before and after, at least
constexpr double proof_seconds = 0.2;     ///< of these, at least

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr double unseen = std::numeric_limits<double>::infinity();

struct Candidate {
  std::string_view name;
  double seconds = unseen;  ///< the least seen
  bool failed = false;
};

struct Kind {
  std::string signature;
  int64_t count = 0;
  std::vector<Candidate> candidates;  ///< still in the race; the heuristic's is the first

  const Candidate& best() const { return *std::ranges::min_element(candidates, {}, &Candidate::seconds); }
  void drop_losers() {
    const double limit = drop_above * best().seconds;
    const auto others = candidates.begin() + 1;  // the heuristic's time is reported
    candidates.erase(
        std::remove_if(others, candidates.end(), [&](const Candidate& one) { return one.seconds > limit; }),
        candidates.end());
  }
};

struct Tuner {
  Backend& backend;
  const Graph& graph;
  const std::shared_ptr<Store>& store;
  const std::function<void(Program&)>& fill;
  const Tuning& known;
  std::vector<Kind> kinds = {};
  std::vector<int> kind_of_node = {};
  std::vector<TunedProgram::Failure> failures = {};
  WarmUp warm_up{backend.facts()};

  void find_kinds() {
    kind_of_node.assign(graph.nodes().size(), -1);
    std::map<std::string, int> by_signature;
    for (int n : live_nodes(graph)) {
      const Node& node = graph.nodes()[static_cast<size_t>(n)];
      if (!node.op->candidates || node.op->renames_storage()) continue;
      const auto candidates = node.op->candidates(node, backend.facts());
      if (candidates.size() < 2) continue;
      const std::string text = signature(node);
      if (known.find(text)) continue;
      const auto [entry, is_new] = by_signature.emplace(text, static_cast<int>(kinds.size()));
      if (is_new) {
        kinds.push_back({.signature = text});
        for (std::string_view name : candidates) kinds.back().candidates.push_back({.name = name});
      }
      ++kinds[static_cast<size_t>(entry->second)].count;
      kind_of_node[static_cast<size_t>(n)] = entry->second;
    }
  }

  int rounds() const {
    size_t most = 0;
    for (const Kind& kind : kinds) most = std::max(most, kind.candidates.size());
    return static_cast<int>(most);
  }

  std::unique_ptr<Program> compile(const Tuning& tuning, bool profile,
                                   const std::shared_ptr<Workspace>& workspace = nullptr) const {
    auto program = backend.compile(graph, store, {.tuning = &tuning, .profile = profile}, workspace);
    fill(*program);
    return program;
  }

  /// Seconds of each kind's fastest node. `turns`: the number of each kind's candidate.
  void measure(Program& program, std::span<const size_t> turns) {
    program.run();
    for (const auto& [node, seconds] : node_seconds(program)) {
      const int k = kind_of_node[static_cast<size_t>(node)];
      if (k < 0) continue;
      const auto kind = static_cast<size_t>(k);
      double& least = kinds[kind].candidates[turns[kind]].seconds;
      least = std::min(least, seconds);
    }
  }

  void play_turns(std::span<const size_t> turns, int runs, double seconds) {
    Tuning tuning = known;
    for (size_t k = 0; k < kinds.size(); ++k)
      tuning.set(kinds[k].signature, {std::string(kinds[k].candidates[turns[k]].name), 0});
    const auto program = compile(tuning, true);
    warm_up(*program);
    const double start = now();
    for (int run = 0; run < runs || now() - start < seconds; ++run) measure(*program, turns);
  }

  /// Every kind with its candidate number `round`, counted round and round; in place of one that failed the
  /// heuristic's.
  void play(int round, int runs, double seconds) {
    std::vector<size_t> turns;
    for (const Kind& kind : kinds) {
      const size_t turn = static_cast<size_t>(round) % kind.candidates.size();
      turns.push_back(kind.candidates[turn].failed ? 0 : turn);
    }
    try {
      return play_turns(turns, runs, seconds);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error&) {
      if (std::ranges::count(turns, size_t{0}) == std::ssize(turns)) throw;  // the program fails as it is
    }
    for (size_t k = 0; k < kinds.size(); ++k)
      if (turns[k] > 0) play_alone(k, turns[k], runs, seconds);
  }

  /// One candidate beside the heuristic's of all other kinds: if it fails now, it is to blame.
  void play_alone(size_t k, size_t turn, int runs, double seconds) {
    std::vector<size_t> turns(kinds.size(), 0);
    turns[k] = turn;
    try {
      play_turns(turns, runs, seconds);
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      Candidate& candidate = kinds[k].candidates[turn];
      candidate.seconds = unseen;
      candidate.failed = true;
      failures.push_back({kinds[k].signature, std::string(candidate.name), error.what()});
    }
  }
};

double least_time(Program& program, double least) {
  const double start = now();
  program.run();
  return std::min(least, now() - start);
}

}  // namespace

double TunedProgram::predicted_gain() const {
  double gain = 0;
  for (const TunedKind& kind : kinds)
    gain += static_cast<double>(kind.count) * (kind.heuristic_seconds - kind.chosen_seconds);
  return gain;
}

TunedProgram tune_program(Backend& backend, const Graph& graph, const std::shared_ptr<Store>& store,
                          const std::function<void(Program&)>& fill, Tuning& tuning,
                          const std::function<void(int, int)>& progress) {
  check(backend.facts().timestamp_period > 0, "{} has no timestamps to tune with; choose another --device",
        backend.facts().name);
  // Nodes are told by their numbers in what is compiled.
  const Graph compiled = with_copied_weights(graph, store ? store->layout() : StoreLayout{});
  Tuner tuner{backend, compiled, store, fill, tuning};
  tuner.find_kinds();
  TunedProgram result;
  if (tuner.kinds.empty()) return result;
  int done = 0, total = (1 + passes) * tuner.rounds();
  const auto advance = [&] {
    if (progress) progress(++done, total);
  };
  for (int round = 0, end = tuner.rounds(); round < end; ++round, advance()) tuner.play(round, 1, 0);
  for (Kind& kind : tuner.kinds) kind.drop_losers();
  total = done + passes * tuner.rounds();
  for (int pass = 0; pass < passes; ++pass)
    for (int round = 0, end = tuner.rounds(); round < end; ++round, advance())
      tuner.play(round, pass_runs, pass_seconds);

  result.failures = std::move(tuner.failures);
  const Tuning before = tuning;
  bool changed = false;
  for (const Kind& kind : tuner.kinds) {
    const Candidate& first = kind.candidates.front();
    if (!std::isfinite(first.seconds)) continue;  // it dispatches nothing
    const bool beaten = kind.best().seconds < (1 - heuristic_keeps) * first.seconds;
    const Candidate& best = beaten ? kind.best() : first;
    changed |= beaten;
    tuning.set(kind.signature, {std::string(best.name), best.seconds});
    result.kinds.push_back(
        {kind.signature, kind.count, std::string(first.name), std::string(best.name), first.seconds, best.seconds});
  }
  std::stable_sort(result.kinds.begin(), result.kinds.end(), [](const TunedKind& a, const TunedKind& b) {
    const auto gain = [](const TunedKind& k) {
      return static_cast<double>(k.count) * (k.heuristic_seconds - k.chosen_seconds);
    };
    return gain(a) > gain(b);
  });
  if (!changed) return result;
  // The proof: single nodes may have been lucky, or the new kernels disturb their neighbours.
  double least[2] = {unseen, unseen};
  const auto workspace = backend.make_workspace();  // one after the other runs, and nobody reads what they leave
  const auto old_program = tuner.compile(before, false, workspace),
             new_program = tuner.compile(tuning, false, workspace);
  for (Program* program : {old_program.get(), new_program.get()})
    tuner.warm_up(*program, 3);  // after the second run segments may be cut anew
  const double start = now();
  for (int pair = 0; pair < proof_runs || now() - start < proof_seconds; ++pair) {
    least[0] = least_time(*old_program, least[0]);
    least[1] = least_time(*new_program, least[1]);
  }
  result.seconds_before = least[0];
  result.seconds_after = least[1];
  result.kept = least[1] < least[0];
  if (!result.kept)
    for (const TunedKind& kind : result.kinds) tuning.set(kind.signature, {kind.heuristic, kind.heuristic_seconds});
  return result;
}

}  // namespace vkformer
