#pragma once
// Files of texts and their labels, as people keep them: JSON lines, CSV and TSV.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct LabelledRow {
  std::string first, second;  ///< texts
  std::string label;
  std::vector<std::string> labels = {};  ///< in its place, where rows have lists
  size_t line = 0;                       ///< of the file, from 1 on
};

struct LabelledRows {
  std::string name;    ///< what errors call the file
  bool pairs = false;  ///< rows have two texts
  bool lists = false;  ///< rows have lists of labels
  std::vector<LabelledRow> rows;
};

/// The rows of a file's content. The end of `name` says what it is: .jsonl (an object a line; .ndjson, too), .csv (of
/// RFC 4180, fields with commas, quotes or line ends in quotes) or .tsv (nothing is quoted), both with a first line
/// that names the columns. Texts are those of "text", "sentence", or "sentence1" and, if it is there, "sentence2"; a
/// "label" is a string or a number or, in .jsonl and of all rows or none, a list of strings (or "labels" is), which may
/// be empty. Other columns are ignored, empty lines left out. Throws Error naming file and line.
LabelledRows read_labelled_rows(std::string_view content, const std::string& name);
/// The same of pictures: the first text of a row is a file, of the column "image", "file", "file_name" or "path", which
/// lies beside `name` unless it begins with /. Throws Error, naming file and line, for one that is not there.
LabelledRows read_labelled_pictures(std::string_view content, const std::string& name);

/// The numbers that the labels are. Throws Error, naming file and line, for one that is none.
std::vector<float> numbers_of_rows(const LabelledRows& rows);
/// Whether all labels are numbers, and some of them no integers.
bool have_numbers(const LabelledRows& rows);

/// The labels that occur: sorted by their bytes, or by their values where all are integers. Throws Error when there are
/// fewer than two.
std::vector<std::string> label_names(const LabelledRows& rows);

/// The place of each row's label among `names`. Throws Error, naming file and line, for one that is not there.
std::vector<int32_t> classes_of_rows(const LabelledRows& rows, const std::vector<std::string>& names);
/// The same of lists, or of lists of one: 1 for each name that a row has, 0 for the others.
std::vector<std::vector<float>> sets_of_rows(const LabelledRows& rows, const std::vector<std::string>& names);

}  // namespace vkformer
