#include "models/generation/text_likelihood.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/generation/beam_search.h"
#include "runtime/check.h"

namespace vkformer {

std::vector<TextWindow> text_windows(size_t tokens, const TextWindowing& windowing) {
  const auto room = windowing.positions - std::ssize(windowing.begin);
  check(windowing.shared >= 1 && windowing.shared <= room,
        "windows of {} positions can't share {} tokens; they can share 1 to {}", windowing.positions, windowing.shared,
        std::max<int64_t>(room, 0));
  std::vector<TextWindow> windows;
  size_t first = windowing.begin.empty() ? 1 : 0;
  while (first < tokens) {
    const size_t from = windows.empty() ? 0 : first - static_cast<size_t>(windowing.shared);
    const size_t end = std::min(tokens, from + static_cast<size_t>(room) + 1);  // the last is not read
    windows.push_back({from, first, end});
    first = end;
  }
  return windows;
}

std::vector<int32_t> window_ids(std::span<const int32_t> text, const TextWindow& window,
                                std::span<const int32_t> begin) {
  const auto read = text.subspan(window.from, window.read());
  std::vector<int32_t> ids(begin.begin(), begin.end());
  ids.insert(ids.end(), read.begin(), read.end());
  return ids;
}

std::vector<double> text_log_probabilities(Generator& generator, std::span<const int32_t> text,
                                           const std::vector<TextWindow>& windows, std::span<const int32_t> begin,
                                           const std::function<void(size_t done)>& on_windows) {
  const auto rows = static_cast<size_t>(generator.shape().rows);
  std::vector<double> all;
  for (size_t done = 0; done < windows.size();) {
    const auto group = std::span(windows).subspan(done, std::min(rows, windows.size() - done));
    // The first is the longest; shorter ones, and rows without one, are padded behind, where nobody looks.
    const size_t length = begin.size() + group.front().read();
    std::vector<int32_t> tokens(rows * length, 0), next(rows * length, 0);
    for (size_t r = 0; r < group.size(); ++r) {
      const std::vector<int32_t> ids = window_ids(text, group[r], begin);
      std::ranges::copy(ids, &tokens[r * length]);
      std::copy(ids.begin() + 1, ids.end(), &next[r * length]);
      next[r * length + ids.size() - 1] = text[group[r].end - 1];
    }
    generator.rewind(0);
    const TokenScores scores = generator.score(tokens, next);
    for (size_t r = 0; r < group.size(); ++r) {
      const auto last = static_cast<std::ptrdiff_t>(r * length + begin.size() + group[r].read());
      const auto row = scores.log_probabilities.begin() + last;
      all.insert(all.end(), row - static_cast<std::ptrdiff_t>(group[r].scored()), row);
    }
    done += group.size();
    if (on_windows) on_windows(done);
  }
  return all;
}

Comparison compare_predictions(Generator& own, Generator& other, std::span<const int32_t> text,
                               const std::vector<TextWindow>& windows, std::span<const int32_t> begin,
                               const std::function<void(size_t done)>& on_window) {
  const auto likeliest = [](const std::vector<double>& row) { return std::ranges::max_element(row) - row.begin(); };
  Comparison result;
  for (size_t done = 0; done < windows.size(); ++done) {
    const TextWindow& window = windows[done];
    const std::vector<int32_t> ids = window_ids(text, window, begin);
    const size_t unscored = ids.size() - window.scored();
    // Of the one model all is kept, of the other a row at a time.
    std::vector<float> kept;
    own.rewind(0);
    own.visit_logits(ids, [&](size_t token, std::span<const float> logits) {
      if (token < unscored) return;
      kept.reserve(window.scored() * logits.size());
      kept.insert(kept.end(), logits.begin(), logits.end());
    });
    other.rewind(0);
    other.visit_logits(ids, [&](size_t token, std::span<const float> logits) {
      if (token < unscored) return;
      const size_t number = token - unscored, V = logits.size();
      std::vector<double> p(V), q(V);
      log_softmax(logits, p, token);
      log_softmax(std::span(kept).subspan(number * V, V), q, token);
      const auto id = static_cast<size_t>(text[window.first + number]);
      result.own.push_back(q[id]);
      result.other.push_back(p[id]);
      double sum = 0;
      for (size_t i = 0; i < V; ++i)
        if (std::isfinite(p[i])) sum += std::exp(p[i]) * (p[i] - q[i]);
      result.kullback_leibler.push_back(sum);
      result.same_likeliest.push_back(likeliest(p) == likeliest(q) ? 1 : 0);
    });
    if (on_window) on_window(done + 1);
  }
  return result;
}

MeanOf mean_of(std::span<const double> samples) {
  const auto count = static_cast<double>(samples.size());
  MeanOf result{.mean = std::accumulate(samples.begin(), samples.end(), 0.0) / count};
  double squares = 0;
  for (const double x : samples) squares += (x - result.mean) * (x - result.mean);
  if (samples.size() > 1) result.error = std::sqrt(squares / (count - 1) / count);
  return result;
}

}  // namespace vkformer
