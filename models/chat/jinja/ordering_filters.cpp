// Filters that compare values with each other.

#include <algorithm>
#include <bit>
#include <map>
#include <span>

#include "models/chat/jinja/arguments.h"
#include "models/chat/jinja/filters.h"
#include "models/chat/jinja/operations.h"
#include "models/chat/jinja/python_text.h"
#include "runtime/check.h"

namespace vkformer::jinja {

namespace {

/// A value and what it is compared by.
using Keyed = std::pair<Value, Value>;

Value key_of(Budget& budget, const Value& value, const Value* path, bool case_sensitive) {
  Value key = path ? looked_up(budget, value, *path) : value;
  if (!key.is_text() || case_sensitive) return key;
  budget.make(3 * key.text().size());
  return lower(key.text());
}

std::vector<Keyed> keyed(Budget& budget, const Value& object, const Value* path, bool case_sensitive) {
  check(!path || !path->is_text() || path->text().find(',') == std::string::npos,
        "ordering by several attributes is not supported");
  std::vector<Keyed> all;
  for (const Value& value : iterate(budget, object))
    all.emplace_back(value, key_of(budget, value, path, case_sensitive));
  return all;
}

/// What so many comparisons of keys may take.
void charge(Budget& budget, const std::vector<Keyed>& all, size_t rounds) {
  for (const Keyed& each : all) budget.step(extent_of(each.second).weight * static_cast<int64_t>(rounds));
}

Values sorted(Budget& budget, std::vector<Keyed> all, bool reversed) {
  charge(budget, all, 2 * static_cast<size_t>(std::bit_width(all.size())) + 1);
  std::ranges::stable_sort(all, [&](const Keyed& a, const Keyed& b) {
    return reversed ? less(b.second, a.second) : less(a.second, b.second);
  });
  Values values;
  for (Keyed& each : all) values.push_back(std::move(each.first));
  return values;
}

Value sort(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'sort'", arguments, {"reverse", "case_sensitive", "attribute"});
  auto all = keyed(budget, object, given.find_or_none(2), given.truth_or(1, false));
  return Value::list(sorted(budget, std::move(all), given.truth_or(0, false)));
}

Value dictsort(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'dictsort'", arguments, {"case_sensitive", "by", "reverse"});
  check_defined(object);
  check(object.is_dictionary(), "filter 'dictsort' takes a dictionary, not {}", type_name(object));
  const std::string by = given.find(1) ? given.text(1) : "key";
  check(by == "key" || by == "value", "filter 'dictsort' sorts by key or value");
  const bool case_sensitive = given.truth_or(0, false);
  budget.make(4 * object.dictionary().items.size() * sizeof(Value));
  std::vector<Keyed> all;
  for (const auto& [key, value] : object.dictionary().items)
    all.emplace_back(Value::tuple({key, value}), key_of(budget, by == "key" ? key : value, nullptr, case_sensitive));
  return Value::list(sorted(budget, std::move(all), given.truth_or(2, false)));
}

template <bool largest>
Value extreme(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given(largest ? "filter 'max'" : "filter 'min'", arguments, {"case_sensitive", "attribute"});
  const auto all = keyed(budget, object, given.find_or_none(1), given.truth_or(0, false));
  if (all.empty()) return Value::undefined("there is no item to choose from");
  charge(budget, all, 2);
  const Keyed* best = &all.front();
  for (const Keyed& each : std::span(all).subspan(1))
    if (largest ? less(best->second, each.second) : less(each.second, best->second)) best = &each;
  return best->first;
}

Value unique(Budget& budget, const Value& object, const Arguments& arguments) {
  const Parameters given("filter 'unique'", arguments, {"case_sensitive", "attribute"});
  const auto all = keyed(budget, object, given.find_or_none(1), given.truth_or(0, false));
  std::vector<const Keyed*> kept;
  for (const Keyed& each : all) {
    const Value& key = each.second;
    check(!key.is_list() && !key.is_dictionary(), "filter 'unique' can't tell a {} from others", type_name(key));
    budget.step(std::ssize(kept) * extent_of(key).weight);
    if (std::ranges::none_of(kept, [&](const Keyed* other) { return equal(other->second, key); }))
      kept.push_back(&each);
  }
  Values values;
  for (const Keyed* each : kept) values.push_back(each->first);
  return Value::iterator(std::move(values));
}

}  // namespace

FilterFunction ordering_filter(std::string_view name) {
  static const std::map<std::string_view, FilterFunction> filters = {
      {"sort", sort}, {"dictsort", dictsort}, {"min", extreme<false>}, {"max", extreme<true>}, {"unique", unique},
  };
  const auto found = filters.find(name);
  return found == filters.end() ? nullptr : found->second;
}

}  // namespace vkformer::jinja
