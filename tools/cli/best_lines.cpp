#include "tools/cli/best_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "tools/cli/output.h"

namespace vkformer {

void print_best_lines(const std::vector<std::string>& lines, const std::vector<double>& scores, int64_t most,
                      const char* key, bool as_json) {
  std::vector<size_t> order(lines.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return scores[i]; });
  order.resize(std::min(static_cast<size_t>(most), order.size()));
  for (const size_t i : order)
    if (as_json)
      print("{}\n", nlohmann::json{{"line", i + 1}, {key, scores[i]}, {"text", lines[i]}}.dump());
    else
      print("{:.4f}\t{}\n", scores[i], lines[i]);
}

}  // namespace vkformer
