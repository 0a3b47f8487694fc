#include "models/data/labelled_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "models/data/class_places.h"
#include "models/data/json_lines.h"
#include "models/data/lines.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"
#include "runtime/text_number.h"

namespace vkformer {

namespace {

constexpr const char* label_column = "label";

/// The columns with the texts; `second` may be empty.
struct TextColumns {
  std::string first, second;
};

/// Finds them by what the columns are called.
using ColumnChoice = TextColumns (*)(const std::string& place, const std::function<bool(const std::string&)>& has);

TextColumns picture_columns(const std::string& place, const std::function<bool(const std::string&)>& has) {
  for (const char* name : {"image", "file", "file_name", "path"})
    if (has(name)) return {name, ""};
  fail("{}: none of \"image\", \"file\", \"file_name\" and \"path\" is there; call the files of pictures so", place);
}

TextColumns text_columns(const std::string& place, const std::function<bool(const std::string&)>& has) {
  for (const char* name : {"text", "sentence"})
    if (has(name)) return {name, ""};
  check(has("sentence1"), "{}: none of \"text\", \"sentence\" and \"sentence1\" is there; call what is to be read so",
        place);
  return {"sentence1", has("sentence2") ? "sentence2" : ""};
}

void take_labels(const JsonObject& object, LabelledRow& row, bool& lists) {
  const char* key = object.has(label_column) || !object.has("labels") ? label_column : "labels";
  check(object.has(key), "{}: \"{}\" is missing; every row needs one", object.name(), label_column);
  const nlohmann::json& label = object.value()[key];
  const auto is_string = [](const nlohmann::json& one) { return one.is_string(); };
  check(label.is_string() || label.is_number() || (label.is_array() && std::ranges::all_of(label, is_string)),
        "{}: \"{}\" must be a string, a number or a list of strings, and is {}", object.name(), key,
        printable(label.dump(), 200));
  lists = label.is_array();
  if (lists)
    row.labels = label.get<std::vector<std::string>>();
  else
    row.label = label.is_string() ? label.get<std::string>() : label.dump();
}

void add_json_lines(LabelledRows& result, const std::vector<std::string>& lines, ColumnChoice choose) {
  std::optional<TextColumns> columns;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(" \t") == std::string::npos) continue;
    const JsonObject object = parse_json_line(lines[i], result.name, i + 1);
    if (!columns) columns = choose(object.name(), [&](const std::string& key) { return object.has(key); });
    const auto text = [&](const std::string& key) { return key.empty() ? "" : require_string(object, key); };
    LabelledRow row{.first = text(columns->first), .second = text(columns->second), .label = {}, .line = i + 1};
    bool lists = false;
    take_labels(object, row, lists);
    if (result.rows.empty()) result.lists = lists;
    check(lists == result.lists, "{}: its label is {} list, the rows before have {}", object.name(), lists ? "a" : "no",
          lists ? "none" : "lists");
    result.rows.push_back(std::move(row));
  }
  result.pairs = columns && !columns->second.empty();
}

/// A line of a table, or several where a field has line ends.
struct Record {
  size_t line = 1;
  std::vector<std::string> fields;
};

std::vector<Record> read_tsv(const std::vector<std::string>& lines) {
  std::vector<Record> records;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    records.push_back({i + 1, {}});
    for (size_t begin = 0, end = 0; end != std::string::npos; begin = end + 1) {
      end = lines[i].find('\t', begin);
      records.back().fields.push_back(lines[i].substr(begin, end - begin));
    }
  }
  return records;
}

/// As RFC 4180 has it; lines may end with a line feed alone.
std::vector<Record> read_csv(const std::vector<std::string>& lines, const std::string& name) {
  enum class Field : uint8_t { begun, plain, quoted, closed };
  std::vector<Record> records;
  Field field = Field::begun;
  size_t opened = 0;  // line of a quote
  for (size_t i = 0; i < lines.size(); ++i) {
    if (field == Field::quoted) {
      records.back().fields.back() += '\n';
    } else {
      if (lines[i].empty()) continue;
      records.push_back({i + 1, {""}});
      field = Field::begun;
    }
    const std::string& line = lines[i];
    for (size_t at = 0; at < line.size(); ++at) {
      std::string& text = records.back().fields.back();
      const char c = line[at];
      if (field == Field::quoted && c == '"') {
        const bool doubled = at + 1 < line.size() && line[at + 1] == '"';
        if (doubled) text += line[at++];
        if (!doubled) field = Field::closed;
      } else if (field == Field::quoted) {
        text += c;
      } else if (c == ',') {
        records.back().fields.emplace_back();
        field = Field::begun;
      } else if (c == '"') {
        check(field == Field::begun, "{}:{}: a quote within a field; put such a field in quotes, and double its own",
              name, i + 1);
        field = Field::quoted;
        opened = i + 1;
      } else {
        check(field != Field::closed, "{}:{}: text behind a closing quote; a comma belongs there", name, i + 1);
        field = Field::plain;
        text += c;
      }
    }
  }
  check(field != Field::quoted, "{}:{}: the quote is never closed", name, opened);
  return records;
}

void add_table(LabelledRows& result, std::vector<Record> records, ColumnChoice choose) {
  check(!records.empty(), "{} has no rows", result.name);
  const std::vector<std::string> header = records.front().fields;
  const std::string place = fmt::format("{}:{}", result.name, records.front().line);
  const auto column_of = [&](const std::string& column) { return std::ranges::find(header, column) - header.begin(); };
  const auto has = [&](const std::string& column) { return column_of(column) < std::ssize(header); };
  check(
      has(label_column),
      "{}: no column is called \"{}\"; the first line must name the columns (between commas in a .csv, tabs in a .tsv) "
      "and has {}",
      place, label_column, in_quotes(fmt::format("{}", fmt::join(header, ", "))));
  const TextColumns columns = choose(place, has);
  for (const std::string& name : {columns.first, columns.second, std::string(label_column)})
    check(std::ranges::count(header, name) < 2, "{}: two columns are called \"{}\"; rename the one that is not meant",
          place, name);
  result.pairs = !columns.second.empty();
  for (Record& record : std::span(records).subspan(1)) {
    check(record.fields.size() == header.size(), "{}:{}: {} fields, but the first line names {} columns", result.name,
          record.line, record.fields.size(), header.size());
    const auto take = [&](const std::string& column) {
      return column.empty() ? "" : record.fields[static_cast<size_t>(column_of(column))];
    };
    result.rows.push_back({.first = take(columns.first),
                           .second = take(columns.second),
                           .label = take(label_column),
                           .line = record.line});
  }
}

std::vector<std::string> labels_of(const LabelledRows& rows, const LabelledRow& row) {
  return rows.lists ? row.labels : std::vector{row.label};
}

/// A label stands alone in a field of a line, in what is read here and in what classifiers print.
void check_label(const std::string& label, const std::string& place) {
  check(!label.empty(), "{}: the label is empty; every row needs one", place);
  check(label.find_first_of("\t\r\n") == label.npos && label.front() != ' ' && label.back() != ' ',
        "{}: the label {} has a tab, a line end, or a blank at its begin or end; write it without", place,
        in_quotes(label));
}

std::optional<float> as_number(const std::string& label) {
  const double number = number_in<double>(label).value_or(NAN);
  const auto value = static_cast<float>(number);
  return std::isfinite(value) && (value != 0 || number == 0) ? std::optional(value) : std::nullopt;
}

LabelledRows read_rows(std::string_view content, const std::string& name, ColumnChoice choose) {
  LabelledRows result{.name = name, .pairs = false, .rows = {}};
  const std::string kind = std::filesystem::path(name).extension().generic_string();
  check(kind == ".jsonl" || kind == ".ndjson" || kind == ".csv" || kind == ".tsv",
        "{}: its name does not say how it is to be read; call it .jsonl, .csv or .tsv", name);
  const std::vector<std::string> lines = split_lines(content, name);
  if (kind == ".csv")
    add_table(result, read_csv(lines, name), choose);
  else if (kind == ".tsv")
    add_table(result, read_tsv(lines), choose);
  else
    add_json_lines(result, lines, choose);
  check(!result.rows.empty(), "{} has no rows", name);
  for (const LabelledRow& row : result.rows)
    for (const std::string& label : labels_of(result, row)) check_label(label, fmt::format("{}:{}", name, row.line));
  return result;
}

}  // namespace

LabelledRows read_labelled_rows(std::string_view content, const std::string& name) {
  return read_rows(content, name, text_columns);
}

LabelledRows read_labelled_pictures(std::string_view content, const std::string& name) {
  LabelledRows rows = read_rows(content, name, picture_columns);
  check(!rows.lists, "{}: several labels of a picture are not supported; give it one", name);
  for (LabelledRow& row : rows.rows) {
    const auto file = std::filesystem::path(name).parent_path() / row.first;
    check(!row.first.empty() && std::filesystem::is_regular_file(file), "{}:{}: there is no picture {}", name, row.line,
          printable(file.generic_string()));
    row.first = file.generic_string();
  }
  return rows;
}

std::vector<float> numbers_of_rows(const LabelledRows& rows) {
  std::vector<float> numbers;
  for (const LabelledRow& row : rows.rows) {
    const auto number = as_number(row.label);
    check(!rows.lists && number.has_value(), "{}:{}: the label {} is no number", rows.name, row.line,
          rows.lists ? "list" : in_quotes(row.label));
    numbers.push_back(*number);
  }
  return numbers;
}

bool have_numbers(const LabelledRows& rows) {
  const auto is_number = [](const LabelledRow& row) { return as_number(row.label).has_value(); };
  const auto is_integer = [](const LabelledRow& row) { return number_in<int64_t>(row.label).has_value(); };
  return !rows.lists && std::ranges::all_of(rows.rows, is_number) && !std::ranges::all_of(rows.rows, is_integer);
}

std::vector<std::string> label_names(const LabelledRows& rows) {
  std::vector<std::string> names;
  for (const LabelledRow& row : rows.rows) std::ranges::move(labels_of(rows, row), std::back_inserter(names));
  check(!names.empty(), "{}: no row has a label", rows.name);
  const bool integers =
      std::ranges::all_of(names, [](const std::string& name) { return number_in<int64_t>(name).has_value(); });
  const auto key = [&](const std::string& name) {
    return std::pair(integers ? *number_in<int64_t>(name) : 0, std::string_view(name));
  };
  std::ranges::sort(names, {}, key);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  check(names.size() > 1, "{}: all rows have the label {}; a classifier needs two or more", rows.name,
        in_quotes(names.front()));
  return names;
}

std::vector<int32_t> classes_of_rows(const LabelledRows& rows, const std::vector<std::string>& names) {
  const ClassPlaces places(names);
  std::vector<int32_t> classes;
  for (const LabelledRow& row : rows.rows)
    classes.push_back(places.of(row.label, "row has the label", fmt::format("{}:{}", rows.name, row.line)));
  return classes;
}

std::vector<std::vector<float>> sets_of_rows(const LabelledRows& rows, const std::vector<std::string>& names) {
  const ClassPlaces places(names);
  std::vector<std::vector<float>> sets;
  for (const LabelledRow& row : rows.rows) {
    std::vector<float>& set = sets.emplace_back(names.size(), 0.0F);
    for (const std::string& label : labels_of(rows, row))
      set[static_cast<size_t>(places.of(label, "row has the label", fmt::format("{}:{}", rows.name, row.line)))] = 1;
  }
  return sets;
}

}  // namespace vkformer
