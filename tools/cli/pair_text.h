#pragma once
// Parallel files as lines, and as ids.

#include "models/data/pairs.h"
#include "models/text/tokenizer.h"
#include "tools/cli/run_files.h"

namespace vkformer {

/// Line i of one file belongs to line i of the other, or both are in line i of one file.
struct TextPairs {
  TextPairs() = default;
  /// Throws Error for files of unlike length and for a line that is not UTF-8.
  TextPairs(const RunFile& source, const RunFile& target);
  /// Throws Error like read_pair_rows().
  explicit TextPairs(const RunFile& both);
  /// Those of a run: "source" and "target", or "pairs", each behind the prefix; none where these files are not there.
  static TextPairs of(const std::vector<RunFile>& files, const std::string& prefix);
  size_t size() const { return sources.size(); }
  /// Where rows name languages: the side of `source` ("eng_Latn" is "en") is the first, whichever that is in the file.
  void order_by(const std::string& source);

  std::string source_file, target_file;  ///< what errors call them
  std::vector<std::string> sources, targets;
  std::string source_language, target_language;  ///< as the rows of a file name them; may be empty
};

struct PairEncoder {
  const Tokenizer &source, &target;  ///< may be one
  int32_t end;                       ///< the id at the end of a text, which is added where the tokenizer does not
  int64_t most;                      ///< tokens of a side
  bool skip_unusable;                ///< pairs with an empty or too long side are left out instead of being an error

  /// What is left out is removed from `pairs`, too. Throws Error naming file and line.
  TokenPairs encode(TextPairs& pairs) const;
};

}  // namespace vkformer
