#pragma once
// Recordings and what is said in them, as people keep them: TSV and JSON lines.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Of line i of a file.
struct SpeechRows {
  std::vector<std::filesystem::path> recordings;
  std::vector<std::string> texts, languages;  ///< a language is "" where a row names none
};

/// The rows of a file's content. The end of `name` says what it is: .tsv (audio file, tab, text; further columns are
/// ignored, nothing is quoted, and there is no line of names) or .jsonl (.ndjson, too): objects with "audio" (or
/// "file_name", "path"), "text" (or "sentence", "transcription") and, where they know it, "language". Files that do not
/// begin with / lie beside `name`. Throws Error naming file and line, also for a recording that is not there.
SpeechRows read_speech_rows(std::string_view content, const std::string& name);

}  // namespace vkformer
