#include "tools/cli/pair_text.h"

#include "models/data/lines.h"
#include "models/data/pair_rows.h"
#include "runtime/check.h"

namespace vkformer {

TextPairs::TextPairs(const RunFile& source, const RunFile& target)
    : source_file(source.path),
      target_file(target.path),
      sources(split_lines(source.content, source.path)),
      targets(split_lines(target.content, target.path)) {
  check(sources.size() == targets.size(), "{} has {} lines, {} has {}; line by line they must belong together",
        source_file, sources.size(), target_file, targets.size());
}

TextPairs::TextPairs(const RunFile& both) : source_file(both.path), target_file(both.path) {
  PairRows rows = read_pair_rows(both.content, both.path);
  sources = std::move(rows.sources);
  targets = std::move(rows.targets);
}

TextPairs TextPairs::of(const std::vector<RunFile>& files, const std::string& prefix) {
  if (const RunFile* both = find_file(files, prefix + "pairs")) return TextPairs(*both);
  const RunFile* source = find_file(files, prefix + "source");
  return source ? TextPairs(*source, *find_file(files, prefix + "target")) : TextPairs();
}

TokenPairs PairEncoder::encode(TextPairs& pairs) const {
  const auto ids_of = [&](const Tokenizer& tokenizer, const std::string& text) {
    std::vector<int32_t> ids = tokenizer.encode(text).ids;
    if (ids.empty() || ids.back() != end) ids.push_back(end);
    return ids;
  };
  const auto usable = [&](const std::vector<int32_t>& ids, const std::string& file, size_t line) {
    const bool empty = ids.size() <= 1, long_one = std::ssize(ids) > most;
    if (!empty && !long_one) return true;
    if (skip_unusable) return false;
    if (empty) fail("{}:{}: the line is empty; give --skip-long to leave such pairs out", file, line + 1);
    fail(
        "{}:{}: {} tokens, at most {} are taken; raise --context (a new model's positions are in its config), or give "
        "--skip-long "
        "to leave such pairs out",
        file, line + 1, ids.size(), most);
  };
  TokenPairs encoded;
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::vector<int32_t> read = ids_of(source, pairs.sources[i]), written = ids_of(target, pairs.targets[i]);
    if (!usable(read, pairs.source_file, i) || !usable(written, pairs.target_file, i)) continue;
    const size_t kept = encoded.sources.size();
    if (kept < i) {
      pairs.sources[kept] = std::move(pairs.sources[i]);
      pairs.targets[kept] = std::move(pairs.targets[i]);
    }
    encoded.sources.push_back(std::move(read));
    encoded.targets.push_back(std::move(written));
  }
  pairs.sources.resize(encoded.sources.size());
  pairs.targets.resize(encoded.targets.size());
  return encoded;
}

}  // namespace vkformer
