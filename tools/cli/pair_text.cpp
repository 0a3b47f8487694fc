#include "tools/cli/pair_text.h"

#include "models/data/lines.h"
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

TokenPairs PairEncoder::encode(TextPairs& pairs) const {
  const auto ids_of = [&](const std::string& text) {
    std::vector<int32_t> ids = tokenizer.encode(text).ids;
    if (ids.empty() || ids.back() != end) ids.push_back(end);
    return ids;
  };
  const auto usable = [&](const std::vector<int32_t>& ids, const std::string& file, size_t line) {
    const bool empty = ids.size() <= 1, long_one = std::ssize(ids) > most;
    if (!empty && !long_one) return true;
    if (skip_unusable) return false;
    if (empty) fail("{}:{}: the line is empty; give --skip-long to leave such pairs out", file, line + 1);
    fail("{}:{}: {} tokens, at most {} are taken; raise --context, or give --skip-long to leave such pairs out", file,
         line + 1, ids.size(), most);
  };
  TokenPairs encoded;
  for (size_t i = 0; i < pairs.size(); ++i) {
    std::vector<int32_t> source = ids_of(pairs.sources[i]), target = ids_of(pairs.targets[i]);
    if (!usable(source, pairs.source_file, i) || !usable(target, pairs.target_file, i)) continue;
    const size_t kept = encoded.sources.size();
    if (kept < i) {
      pairs.sources[kept] = std::move(pairs.sources[i]);
      pairs.targets[kept] = std::move(pairs.targets[i]);
    }
    encoded.sources.push_back(std::move(source));
    encoded.targets.push_back(std::move(target));
  }
  pairs.sources.resize(encoded.sources.size());
  pairs.targets.resize(encoded.targets.size());
  return encoded;
}

}  // namespace vkformer
