#include "models/data/speech_rows.h"

#include "models/data/json_lines.h"
#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

std::string first_of(const JsonObject& row, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (row.has(key)) return require_string(row, key);
  return require_string(row, *keys.begin());
}

}  // namespace

SpeechRows read_speech_rows(std::string_view content, const std::string& name) {
  const std::filesystem::path file(name);
  const std::string kind = file.extension().generic_string();
  const bool objects = kind == ".jsonl" || kind == ".ndjson";
  check(objects || kind == ".tsv", "{}: a file of recordings and texts must be .tsv or .jsonl", name);
  SpeechRows rows;
  const std::vector<std::string> lines = split_lines(content, name);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const std::string place = fmt::format("{}:{}", name, i + 1);
    std::string recording, text, language;
    if (objects) {
      const JsonObject row = parse_json_line(line, name, i + 1);
      recording = first_of(row, {"audio", "file_name", "path"});
      text = first_of(row, {"text", "sentence", "transcription"});
      language = string_or(row, "language", "");
    } else {
      const size_t tab = line.find('\t');
      check(tab != std::string::npos, "{}: no tab; each line must be an audio file, a tab and a text", place);
      recording = line.substr(0, tab);
      text = line.substr(tab + 1, line.find('\t', tab + 1) - tab - 1);
    }
    const std::filesystem::path path = file.parent_path() / recording;
    check(!recording.empty() && std::filesystem::is_regular_file(path), "{}: there is no audio file {}", place,
          printable(path.generic_string()));
    rows.recordings.push_back(path);
    rows.texts.push_back(std::move(text));
    rows.languages.push_back(std::move(language));
  }
  return rows;
}

}  // namespace vkformer
