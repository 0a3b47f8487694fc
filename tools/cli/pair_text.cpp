#include "tools/cli/pair_text.h"

#include <algorithm>

#include "models/data/lines.h"
#include "models/data/pair_rows.h"
#include "models/text/languages.h"
#include "runtime/check.h"
#include "tools/cli/output.h"

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
  if (rows.wider > 0)
    say("{}: {} with more than two columns, of which the further ones are left out", both.path,
        counted(static_cast<int64_t>(rows.wider), "line"));
  sources = std::move(rows.sources);
  targets = std::move(rows.targets);
  source_language = rows.source_language;
  target_language = rows.target_language;
}

void TextPairs::order_by(const std::string& source) {
  const auto is_source = [&](const std::string& key) {
    return !key.empty() && language_setting(source).starts_with(key);
  };
  if (is_source(source_language) || !is_source(target_language)) return;
  std::swap(sources, targets);
  std::swap(source_language, target_language);
}

TextPairs TextPairs::of(const std::vector<RunFile>& files, const std::string& prefix) {
  if (const RunFile* both = find_file(files, prefix + "pairs")) return TextPairs(*both);
  const RunFile* source = find_file(files, prefix + "source");
  return source ? TextPairs(*source, *find_file(files, prefix + "target")) : TextPairs();
}

namespace {

/// What a tokenizer makes of texts, each with the end of a text.
class SideEncoder {
 public:
  SideEncoder(const Tokenizer& tokenizer, int32_t end) : tokenizer_(tokenizer), end_(end) {
    const std::vector<int32_t> around = tokenizer.encode("").ids;
    ends_ = std::ranges::find(around, end) != around.end();
    fewest_ = around.size() + (ends_ ? 0 : 1);
  }
  std::vector<int32_t> encode(const std::string& text) const {
    std::vector<int32_t> ids = tokenizer_.encode(text).ids;
    if (!ends_ && (ids.empty() || ids.back() != end_)) ids.push_back(end_);
    return ids;
  }
  bool is_empty(const std::vector<int32_t>& ids) const { return ids.size() <= fewest_; }

 private:
  const Tokenizer& tokenizer_;
  int32_t end_;
  bool ends_;  ///< the tokenizer puts it there
  size_t fewest_;
};

}  // namespace

TokenPairs PairEncoder::encode(TextPairs& pairs) const {
  const SideEncoder sources(source, end), targets(target, end);
  const auto usable = [&](const SideEncoder& side, const std::vector<int32_t>& ids, const std::string& file,
                          size_t line) {
    const bool empty = side.is_empty(ids), long_one = std::ssize(ids) > most;
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
    std::vector<int32_t> read = sources.encode(pairs.sources[i]), written = targets.encode(pairs.targets[i]);
    if (!usable(sources, read, pairs.source_file, i) || !usable(targets, written, pairs.target_file, i)) continue;
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
