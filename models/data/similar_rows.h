#pragma once
// Files of texts that are similar: questions and what answers them, paraphrases, titles and their texts.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct SimilarRow {
  std::vector<std::string> texts;  ///< the query, what is similar to it, and texts that are not
  size_t line = 0;                 ///< of the file, from 1 on
};

struct SimilarRows {
  std::string name;   ///< what errors call the file
  int64_t texts = 2;  ///< of each row
  std::vector<SimilarRow> rows;
};

/// The rows of a .jsonl file's content: "query" (or "anchor"), "positive" and, in all rows or none and as many,
/// "negative": a text or a list of them. Empty lines are left out, other keys ignored. Throws Error naming file and
/// line.
SimilarRows read_similar_rows(std::string_view content, const std::string& name);

}  // namespace vkformer
