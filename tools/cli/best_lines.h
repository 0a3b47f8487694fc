#pragma once
// The lines that go best with a query.

#include <cstdint>
#include <string>
#include <vector>

namespace vkformer {

/// Prints the `most` lines of the highest scores beside them, the best first, equal ones in their order; as JSON with
/// the line's number, and the score under `key`.
void print_best_lines(const std::vector<std::string>& lines, const std::vector<double>& scores, int64_t most,
                      const char* key, bool as_json);

}  // namespace vkformer
