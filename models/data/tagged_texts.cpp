#include "models/data/tagged_texts.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "models/data/class_places.h"
#include "models/data/json_lines.h"
#include "models/data/lines.h"
#include "models/data/word_windows.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

void add_columns(TaggedTexts& result, const std::vector<std::string>& lines) {
  bool begun = false;
  size_t count = 0;  // of the columns, once a line has told it
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::vector<std::string> columns = words_of_line(lines[i]);
    if (columns.empty() || columns.front() == "-DOCSTART-") {
      begun = false;
      continue;
    }
    check(columns.size() > 1, "{}:{}: the word {} has no tag; a line needs a word and its tag", result.name, i + 1,
          in_quotes(columns.front()));
    if (count == 0) count = columns.size();
    check(columns.size() == count, "{}:{}: {} columns, but the lines before have {}; a word holds no blanks",
          result.name, i + 1, columns.size(), count);
    if (!begun) result.texts.emplace_back();
    begun = true;
    TaggedText& text = result.texts.back();
    text.words.push_back(columns.front());
    text.tags.push_back(columns.back());
    text.lines.push_back(i + 1);
  }
}

/// The array of strings under the first of the keys that is there.
std::vector<std::string> strings_of(const JsonObject& object, std::initializer_list<const char*> keys) {
  const auto key = std::ranges::find_if(keys, [&](const char* k) { return object.has(k); });
  check(key != keys.end(), "{}: \"{}\" is missing", object.name(), *keys.begin());
  std::vector<std::string> strings;
  const nlohmann::json& list = object.value()[*key];
  check(list.is_array(), "{}: \"{}\" must be an array of strings", object.name(), *key);
  for (const nlohmann::json& entry : list) {
    check(entry.is_string() && !entry.get_ref<const std::string&>().empty(),
          "{}: \"{}\" must hold strings that are not empty, and has {}", object.name(), *key, printable(entry.dump()));
    strings.push_back(entry.get<std::string>());
  }
  return strings;
}

void add_objects(TaggedTexts& result, const std::vector<std::string>& lines) {
  for (size_t i = 0; i < lines.size(); ++i) {
    if (words_of_line(lines[i]).empty()) continue;
    const JsonObject object = parse_json_line(lines[i], result.name, i + 1);
    TaggedText text{.words = strings_of(object, {"tokens", "words"}),
                    .tags = strings_of(object, {"tags", "labels", "ner_tags"}),
                    .lines = {}};
    for (const std::string& tag : text.tags)
      check(words_of_line(tag).size() == 1 && words_of_line(tag).front() == tag,
            "{}: the tag {} has a blank; a tag is one word", object.name(), in_quotes(tag));
    check(text.words.size() == text.tags.size(), "{}: {} words have {} tags; each needs one", object.name(),
          text.words.size(), text.tags.size());
    text.lines.assign(text.words.size(), i + 1);
    if (!text.words.empty()) result.texts.push_back(std::move(text));
  }
}

}  // namespace

TaggedTexts read_tagged_texts(std::string_view content, const std::string& name) {
  TaggedTexts result{.name = name, .texts = {}};
  const std::string kind = std::filesystem::path(name).extension().generic_string();
  const bool objects = kind == ".jsonl" || kind == ".ndjson";
  check(objects || kind == ".conll" || kind == ".txt" || kind == ".tsv",
        "{}: its name does not say how it is to be read; call it .conll, .txt, .tsv or .jsonl", name);
  const std::vector<std::string> lines = split_lines(content, name);
  if (objects)
    add_objects(result, lines);
  else
    add_columns(result, lines);
  check(!result.texts.empty(), "{} has no words", name);
  return result;
}

std::vector<std::string> tag_names(const TaggedTexts& texts) {
  std::set<std::string> sorted;
  for (const TaggedText& text : texts.texts) sorted.insert(text.tags.begin(), text.tags.end());
  check(sorted.size() > 1, "{}: all words have the tag {}; a tagger needs two or more", texts.name,
        in_quotes(*sorted.begin()));
  std::vector<std::string> names(sorted.begin(), sorted.end());
  std::ranges::stable_partition(names, [](const std::string& name) { return name == "O"; });
  return names;
}

std::vector<std::vector<int32_t>> classes_of_words(const TaggedTexts& texts, const std::vector<std::string>& names) {
  const ClassPlaces places(names);
  std::vector<std::vector<int32_t>> classes;
  for (const TaggedText& text : texts.texts) {
    std::vector<int32_t>& own = classes.emplace_back();
    for (size_t i = 0; i < text.tags.size(); ++i)
      own.push_back(places.of(text.tags[i], "word has the tag", fmt::format("{}:{}", texts.name, text.lines[i])));
  }
  return classes;
}

}  // namespace vkformer
