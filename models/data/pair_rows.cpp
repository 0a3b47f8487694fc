#include "models/data/pair_rows.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "models/data/json_lines.h"
#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"

namespace vkformer {

namespace {

void add_columns(PairRows& rows, const std::string& line, const std::string& place) {
  const size_t tab = line.find('\t');
  check(tab != std::string::npos, "{}: no tab; each line must be a source, a tab and a target", place);
  rows.sources.push_back(line.substr(0, tab));
  const size_t end = line.find('\t', tab + 1);
  rows.targets.push_back(line.substr(tab + 1, end - tab - 1));
  rows.wider += end != std::string::npos;
}

/// Where the texts of an object are.
struct PairKeys {
  bool nested = false;  ///< in "translation"
  std::string source = "source", target = "target";
};

/// JsonObject sorts its keys, but the order in the file says which language is the source's.
PairKeys keys_of_first(const JsonObject& object, const std::string& line) {
  if (object.has("prompt")) return {.source = "prompt", .target = "completion"};
  if (!object.has("translation")) return {};
  const JsonObject languages = require_object(object, "translation");
  check(languages.value().size() == 2, "{} has {} languages; there must be two", languages.name(),
        languages.value().size());
  const auto in_order = parse_json_in_order(line, object.name()).at("translation");
  return {.nested = true, .source = in_order.begin().key(), .target = std::next(in_order.begin()).key()};
}

}  // namespace

PairRows read_pair_rows(std::string_view content, const std::string& name) {
  const std::string kind = std::filesystem::path(name).extension().generic_string();
  const bool objects = kind == ".jsonl" || kind == ".ndjson";
  check(objects || kind == ".tsv", "{}: one file of pairs must be .tsv or .jsonl; or give two files of lines", name);
  const std::vector<std::string> lines = split_lines(content, name);
  PairRows rows;
  PairKeys keys;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = fmt::format("{}:{}", name, i + 1);
    if (!objects) {
      add_columns(rows, lines[i], place);
      continue;
    }
    const JsonObject object = parse_json_line(lines[i], name, i + 1);
    if (i == 0) {
      keys = keys_of_first(object, lines[i]);
      if (keys.nested) rows.source_language = keys.source, rows.target_language = keys.target;
    }
    const JsonObject texts = keys.nested ? require_object(object, "translation") : object;
    rows.sources.push_back(require_string(texts, keys.source));
    rows.targets.push_back(require_string(texts, keys.target));
  }
  return rows;
}

}  // namespace vkformer
