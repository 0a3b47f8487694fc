#pragma once
// Parallel files as lines, and as ids.

#include "models/data/pairs.h"
#include "models/text/tokenizer.h"
#include "tools/cli/run_files.h"

namespace vkformer {

/// Line i of one file belongs to line i of the other.
struct TextPairs {
  TextPairs() = default;
  /// Throws Error for files of unlike length and for a line that is not UTF-8.
  TextPairs(const RunFile& source, const RunFile& target);
  size_t size() const { return sources.size(); }

  std::string source_file, target_file;  ///< what errors call them
  std::vector<std::string> sources, targets;
};

struct PairEncoder {
  const Tokenizer& tokenizer;
  int32_t end;         ///< the id at the end of a text, which is added where the tokenizer does not
  int64_t most;        ///< tokens of a side
  bool skip_unusable;  ///< pairs with an empty or too long side are left out instead of being an error

  /// What is left out is removed from `pairs`, too. Throws Error naming file and line.
  TokenPairs encode(TextPairs& pairs) const;
};

}  // namespace vkformer
