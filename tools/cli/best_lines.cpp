#include "tools/cli/best_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/classification/relevance.h"
#include "tools/cli/output.h"

namespace vkformer {

void print_best_lines(const std::vector<std::string>& lines, const std::vector<double>& scores, int64_t most,
                      const char* key, bool as_json) {
  std::vector<size_t> order = descending(scores);
  order.resize(std::min(static_cast<size_t>(most), order.size()));
  for (const size_t i : order)
    if (as_json)
      print("{}\n", nlohmann::json{{"line", i + 1}, {key, scores[i]}, {"text", lines[i]}}.dump());
    else
      print("{:.4f}\t{}\n", scores[i], lines[i]);
}

}  // namespace vkformer
