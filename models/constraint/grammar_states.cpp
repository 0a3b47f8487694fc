#include "models/constraint/grammar_states.h"

#include <algorithm>
#include <set>

#include "runtime/check.h"

namespace vkformer {

namespace {

constexpr GrammarStates::State unknown = -2;
constexpr size_t most_places = 100'000, most_bytes = size_t{256} << 20;

}  // namespace

GrammarStates::GrammarStates(Grammar grammar) : grammar_(std::move(grammar)) { begin(); }

void GrammarStates::begin() {
  steps_.assign(1, {0, 0});
  std::vector<Step> open;
  for (const uint32_t alternative : grammar_.rules[grammar_.root]) open.emplace_back(alternative, 0);
  start_ = state_of(reached(std::move(open)));
  check(start_ != nowhere, "the grammar makes no text: its rules only ask for each other");
}

void GrammarStates::forget() {
  places_.clear();
  places_of_.clear();
  states_.clear();
  next_.clear();
  bytes_ = 0;
  begin();
}

GrammarStates::Place GrammarStates::place(uint32_t element, Place behind) {
  const auto [found, added] = places_.try_emplace({element, behind}, static_cast<Place>(steps_.size()));
  if (added) {
    steps_.emplace_back(element, behind);
    bytes_ += 64;
  }
  return found->second;
}

std::vector<GrammarStates::Place> GrammarStates::reached(std::vector<Step> open) {
  std::vector<Place> places;
  std::set<Step> seen;
  while (!open.empty()) {
    const Step step = open.back();
    open.pop_back();
    if (!seen.insert(step).second) continue;
    check(seen.size() <= most_places,
          "the grammar leaves more than {} ways to go on with a text; write it with fewer alternatives, and no "
          "repetitions of what may be empty",
          most_places);
    const auto [at, rest] = step;
    const Grammar::Element& here = grammar_.elements[at];
    if (here.kind == Grammar::Kind::bytes) {
      places.push_back(place(at, rest));
    } else if (here.kind == Grammar::Kind::rule) {
      // Behind the last element nothing of this rule is left: repetitions do not pile up.
      const bool last = grammar_.elements[at + 1].kind == Grammar::Kind::end;
      const Place behind_rule = last ? rest : place(at + 1, rest);
      for (const uint32_t alternative : grammar_.rules[here.index]) open.emplace_back(alternative, behind_rule);
    } else if (rest == 0) {
      places.push_back(0);
    } else {
      open.push_back(steps_[rest]);
    }
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

GrammarStates::State GrammarStates::state_of(std::vector<Place> places) {
  if (places.empty()) return nowhere;
  const auto [found, added] = states_.try_emplace(places, static_cast<State>(places_of_.size()));
  if (added) {
    bytes_ += 2 * places.size() * sizeof(Place) + sizeof(next_[0]) + 128;
    places_of_.push_back(std::move(places));
    next_.emplace_back().fill(unknown);
  }
  return found->second;
}

GrammarStates::State GrammarStates::next(State state, uint8_t byte) {
  if (state == nowhere) return nowhere;
  const auto index = static_cast<size_t>(state);
  if (next_[index][byte] != unknown) return next_[index][byte];
  check(bytes_ <= most_bytes, "the grammar has too many states: they take more than {} MiB; count fewer repetitions",
        most_bytes >> 20);
  std::vector<Step> open;
  for (const Place at : places_of_[index]) {
    if (at == 0) continue;
    const auto [element, rest] = steps_[at];
    if (grammar_.sets[grammar_.elements[element].index][byte]) open.emplace_back(element + 1, rest);
  }
  const State behind = state_of(reached(std::move(open)));
  return next_[index][byte] = behind;
}

GrammarStates::State GrammarStates::next(State state, std::string_view bytes) {
  for (const char byte : bytes) state = next(state, static_cast<uint8_t>(byte));
  return state;
}

}  // namespace vkformer
