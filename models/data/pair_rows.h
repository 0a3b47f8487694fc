#pragma once
// One file of pairs of texts, as people keep them: TSV and JSON lines.

#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Of line i of a file.
struct PairRows {
  std::vector<std::string> sources, targets;
  size_t wider = 0;                              ///< lines of a .tsv with further columns, which say nothing here
  std::string source_language, target_language;  ///< keys of "translation"; empty: the rows have none
};

/// The pairs of a file's content, one of each line. The end of `name` says what it is: .tsv (source, tab, target;
/// further columns are ignored, nothing is quoted, and there is no line of names) or .jsonl (.ndjson, too): objects
/// with "source" and "target", with "prompt" and "completion", or as `datasets` has them, "translation" with a text for
/// each of two languages, of which the one that comes first in the file is the source. Throws Error naming file and
/// line.
PairRows read_pair_rows(std::string_view content, const std::string& name);

}  // namespace vkformer
