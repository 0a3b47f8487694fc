// `vkformer profile --compare`: what became slower or faster between two profiles.

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <ranges>

#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// A kernel in one program of a profile; microseconds, sums over its dispatches.
struct KernelTime {
  int64_t dispatches = 0;
  std::pair<double, double> work;  ///< floating-point operations and bytes
  double least = 0;
  double noise = 0;  ///< how far the two best of repeated measurements are apart: 0.1 is a tenth
};
using KernelTimes = std::map<std::pair<std::string, std::string>, KernelTime>;  ///< by program and kernel

double apart(double a, double b) { return std::abs(a - b) / std::max(1e-3, std::min(a, b)); }

constexpr double unknown = std::numeric_limits<double>::infinity();  ///< noise that no change stands out from

/// Of all runs of a program some go without timestamps, to tell what these cost.
int64_t timed_runs(const JsonObject& program) {
  const JsonObject& counted = program.has("device") ? require_object(program, "device") : program;
  return require_integer(counted, "runs", 0, int64_t{1} << 40);
}

/// Of one profile; the noise is that between the two halves of its timed runs, and not known of a single one.
KernelTimes load_times(const std::string& file) {
  const JsonObject trace = JsonObject::load(file);
  check(trace.has("vkformer"), "{} is no profile: it has to come from --profile FILE.json", file);
  KernelTimes times;
  for (const JsonObject& program : require_objects(require_object(trace, "vkformer"), "programs")) {
    if (!program.has("kernels")) continue;
    const bool once = timed_runs(program) < 2;
    for (const JsonObject& kernel : require_objects(program, "kernels")) {
      const auto number = [&](const char* key) { return require_number(kernel, key, 0, 1e15); };
      times[{require_string(program, "name"), require_string(kernel, "name")}] = {
          .dispatches = require_integer(kernel, "dispatches", 1, int64_t{1} << 40),
          .work = {number_or(kernel, "flops", 0, 0, 1e30), number_or(kernel, "bytes", 0, 0, 1e30)},
          .least = number("least"),
          .noise = once ? unknown : apart(number("first_half"), number("second_half"))};
    }
  }
  check(!times.empty(), "{} has no timings", file);
  return times;
}

/// Of all profiles of a comma-separated list, which measured the same: of each kernel the least time; the noise is then
/// how far the second best profile is from the best. It knows what halves of one process do not: where memory came to
/// lie.
KernelTimes load_all(const std::string& list) {
  std::vector<KernelTimes> profiles;
  for (const auto file : std::views::split(list, ',')) profiles.push_back(load_times({file.begin(), file.end()}));
  if (profiles.size() == 1) return profiles.front();
  KernelTimes best = profiles.front();
  std::erase_if(best, [&](const auto& kernel) {
    return !std::ranges::all_of(profiles, [&](const KernelTimes& times) {
      const auto found = times.find(kernel.first);
      return found != times.end() && found->second.dispatches == kernel.second.dispatches;
    });
  });
  for (auto& [key, time] : best) {
    std::vector<double> least;
    for (const KernelTimes& times : profiles) least.push_back(times.at(key).least);
    std::ranges::sort(least);
    time.least = least[0];
    time.noise = apart(least[0], least[1]);
  }
  check(!best.empty(), "the profiles {} have no kernel in common", list);
  return best;
}

struct Change {
  std::string program, kernel;
  double before = 0, after = 0;  ///< microseconds
  double ratio = 1;              ///< apart from what all kernels have in common
  double noise = 0;              ///< below this a ratio says nothing
  bool stands_out = false;
};

struct Comparison {
  std::vector<Change> changes;  ///< of kernels that both have, the largest difference first
  std::vector<std::string> only_a, only_b;
  int64_t unlike = 0;            ///< of the kernels that both have: those that do other work in each
  double before = 0, after = 0;  ///< microseconds, all of these kernels
  double typical = 1;            ///< median ratio of a kernel: clocks and neighbours change all of them
  double scatter = 0;            ///< median distance of the others from it: they do not change all alike
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// `factor`: how many times the noise a kernel has to change by.
Comparison compare(const KernelTimes& a, const KernelTimes& b, double factor) {
  Comparison result;
  const auto title = [](const auto& key) { return key.first + ": " + key.second; };
  std::vector<double> ratios;
  for (const auto& [key, before] : a) {
    const auto found = b.find(key);
    if (found == b.end() || found->second.dispatches != before.dispatches) {
      result.only_a.push_back(title(key));
      if (found != b.end()) result.only_b.push_back(title(key));
      continue;
    }
    const KernelTime& after = found->second;
    result.unlike += before.work != after.work;
    result.before += before.least;
    result.after += after.least;
    const double ratio = std::max(after.least, 1e-3) / std::max(before.least, 1e-3);
    ratios.push_back(ratio);
    result.changes.push_back({.program = key.first,
                              .kernel = key.second,
                              .before = before.least,
                              .after = after.least,
                              .ratio = ratio,
                              .noise = before.noise + after.noise});
  }
  for (const auto& [key, time] : b)
    if (!a.contains(key)) result.only_b.push_back(title(key));
  check(!ratios.empty(), "the two profiles have no kernel in common");
  result.typical = median(ratios);
  // Least times of few runs scatter by some per cent; what is brief beside the whole scatters more and matters less.
  constexpr double brief = 0.002;
  std::vector<double> distances = {0};
  for (Change& change : result.changes) {
    change.ratio /= result.typical;
    if (change.before > brief * result.before) distances.push_back(std::abs(change.ratio - 1));
  }
  result.scatter = median(distances);
  for (Change& change : result.changes) {
    const bool matters = std::abs(change.after - change.before * result.typical) > brief * result.before;
    change.stands_out =
        matters && std::abs(change.ratio - 1) > std::max({0.05, factor * change.noise, 4 * result.scatter});
  }
  std::ranges::sort(result.changes, std::greater{}, [](const Change& c) { return std::abs(c.after - c.before); });
  return result;
}

void print_comparison(const Comparison& result) {
  print("{:<72} {:>11} {:>11} {:>8} {:>8}\n", "program: kernel (op)", "before us", "after us", "change", "noise");
  int64_t named = 0, once = 0;
  for (const Change& change : result.changes) {
    named += change.stands_out;
    once += std::isinf(change.noise);
    if (change.stands_out)
      print("{:<72} {:>11.1f} {:>11.1f} {:>+7.1f}% {:>7.1f}%  {}\n", change.program + ": " + change.kernel,
            change.before, change.after, 100 * (change.ratio - 1), 100 * change.noise,
            change.ratio > 1 ? "slower" : "faster");
  }
  for (const auto& title : result.only_a) print("{}: only before, or another number of times\n", title);
  for (const auto& title : result.only_b) print("{}: only after, or another number of times\n", title);
  const auto all = std::ssize(result.changes);
  if (result.unlike > 0)
    print("not the same work: {} of {} kernels have other operations or bytes after; another model, or other sizes\n",
          result.unlike, all);
  constexpr const char* advice = "take more runs, or several profiles, A1.json,A2.json";
  const std::string verdict =
      once == all ? fmt::format("too few runs to tell what changed: all {} kernels were timed once; {}", all, advice)
      : once == 0 ? fmt::format("{} of {} kernels changed beyond noise", named, all)
                  : fmt::format("{} of {} kernels changed beyond noise ({} were timed once, which tells no noise: {})",
                                named, all, once, advice);
  print(
      "{}; all that both have: {:.1f} us before, {:.1f} after ({:+.1f} %), of which {:+.1f} % is what a kernel changed "
      "typically and was taken off; kernels scatter by {:.1f} % around that\n",
      verdict, result.before, result.after, 100 * (result.after / result.before - 1), 100 * (result.typical - 1),
      100 * result.scatter);
}

}  // namespace

void compare_profiles(const ProfileFlags& flags) {
  // Halves of one process know less of the noise than processes do.
  const bool several =
      std::ranges::all_of(flags.compared, [](const auto& list) { return list.find(',') != std::string::npos; });
  const Comparison result = compare(load_all(flags.compared[0]), load_all(flags.compared[1]), several ? 2 : 3);
  if (!flags.json) return print_comparison(result);
  auto rows = nlohmann::json::array();
  for (const Change& change : result.changes)
    rows.push_back({{"program", change.program},
                    {"kernel", change.kernel},
                    {"before", change.before},
                    {"after", change.after},
                    {"ratio", change.ratio},
                    {"noise", change.noise},
                    {"stands_out", change.stands_out}});
  print("{}\n", nlohmann::json{{"kernels", rows},
                               {"only_before", result.only_a},
                               {"only_after", result.only_b},
                               {"unlike", result.unlike},
                               {"before", result.before},
                               {"after", result.after},
                               {"typical", result.typical},
                               {"scatter", result.scatter}}
                    .dump(1));
}

}  // namespace vkformer
