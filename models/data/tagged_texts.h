#pragma once
// Files of words and their tags, as people keep them: a word and its tag a line, or JSON lines.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// A text, usually a sentence.
struct TaggedText {
  std::vector<std::string> words, tags;  ///< as many of both, at least one
  std::vector<size_t> lines;             ///< of the file, of each word, from 1 on
};

struct TaggedTexts {
  std::string name;  ///< what errors call the file
  std::vector<TaggedText> texts;
};

/// The texts of a file's content. The end of `name` says what it is: .conll, .txt or .tsv, with columns between blanks
/// or tabs, of which the first is the word and the last its tag; an empty line ends a text, as does a line that begins
/// with -DOCSTART-. Or .jsonl (.ndjson, too): an object a line with "tokens" (or "words") and "tags" (or "labels",
/// "ner_tags"), arrays of strings of one length; those without words are left out. Throws Error naming file and line.
TaggedTexts read_tagged_texts(std::string_view content, const std::string& name);

/// The tags that occur, sorted by their bytes, but "O" first. Throws Error when there are fewer than two.
std::vector<std::string> tag_names(const TaggedTexts& texts);

/// The place of each word's tag among `names`, text by text. Throws Error, naming file and line, for one that is not
/// there.
std::vector<std::vector<int32_t>> classes_of_words(const TaggedTexts& texts, const std::vector<std::string>& names);

}  // namespace vkformer
