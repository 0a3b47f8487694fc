// `vkformer score`: how near lines of text are to the right ones.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/data/lines.h"
#include "models/score/bleu.h"
#include "models/score/chrf.h"
#include "models/score/labels.h"
#include "models/score/word_errors.h"
#include "models/text/unicode.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/busy_watch.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

using Lines = std::vector<std::string>;

/// One metric for people, and for programs.
struct Report {
  std::string text;
  nlohmann::json json;
};

/// Rows of a table of confusions that a screen still shows; with more labels the most frequent mistakes are listed.
constexpr size_t largest_table = 20;

std::string shown_label(const std::string& label) { return label.empty() ? "\"\"" : printable(label, 30); }

Report report(const BleuScore& bleu) {
  return {fmt::format("{}{}\n  {}\n", bleu.to_string(), bleu.remark(), bleu.signature),
          {{"score", bleu.score},
           {"precisions", bleu.precisions},
           {"brevity_penalty", bleu.brevity_penalty},
           {"ratio", bleu.ratio()},
           {"hypothesis_length", bleu.hypothesis_length},
           {"reference_length", bleu.reference_length},
           {"signature", bleu.signature}}};
}

Report report(const ChrfScore& chrf) {
  return {fmt::format("{}\n  {}\n", chrf.to_string(), chrf.signature),
          {{"score", chrf.score}, {"signature", chrf.signature}}};
}

Report report_equal_lines(int64_t equal, size_t lines) {
  const double percent = 100 * static_cast<double>(equal) / static_cast<double>(lines);
  return {fmt::format("exact = {:.2f} ({} of {} lines)\n", percent, equal, lines),
          {{"score", percent}, {"equal", equal}, {"lines", lines}}};
}

/// `units`: what was compared, words or characters.
Report report(const WordErrors& errors, const char* name, const char* units) {
  const double percent = 100 * errors.rate();
  return {fmt::format("{} = {:.2f} ({} substitutions, {} deletions, {} insertions; {} {} in the references)\n", name,
                      percent, errors.substitutions, errors.deletions, errors.insertions, errors.words, units),
          {{"score", percent},
           {"substitutions", errors.substitutions},
           {"deletions", errors.deletions},
           {"insertions", errors.insertions},
           {units, errors.words}}};
}

/// A table with a row for each label of the references and a column for each of the hypotheses.
std::string confusion_table(const LabelScores& scores, int width) {
  std::string text = fmt::format("\nrows: reference; columns: hypothesis\n{:{}}", "", width + 4);
  for (size_t column = 0; column < scores.labels.size(); ++column) text += fmt::format(" {:>6}", column + 1);
  text += '\n';
  for (size_t row = 0; row < scores.labels.size(); ++row) {
    text += fmt::format("{:>3} {:<{}}", row + 1, shown_label(scores.labels[row].label), width);
    for (size_t column = 0; column < scores.labels.size(); ++column)
      text += fmt::format(" {:>6}", scores.count(row, column));
    text += '\n';
  }
  return text;
}

std::string frequent_mistakes(const LabelScores& scores, int width) {
  std::vector<Confusion> mistakes;
  for (const Confusion& pair : scores.confusions)
    if (pair.reference != pair.hypothesis) mistakes.push_back(pair);
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const Confusion& a, const Confusion& b) { return a.count > b.count; });
  if (mistakes.size() > largest_table) mistakes.resize(largest_table);
  std::string text = fmt::format("\nthe most frequent mistakes (--json has the whole table)\n{:>6}  {:<{}} {}\n",
                                 "lines", "reference", width, "hypothesis");
  for (const Confusion& pair : mistakes)
    text += fmt::format("{:>6}  {:<{}} {}\n", pair.count, shown_label(scores.labels[pair.reference].label), width,
                        shown_label(scores.labels[pair.hypothesis].label));
  return text;
}

Report report(const LabelScores& scores) {
  size_t longest = 9;  // "reference"
  auto labels = nlohmann::json::array(), confusions = nlohmann::json::array();
  for (const LabelScore& label : scores.labels) {
    longest = std::max(longest, shown_label(label.label).size());
    labels.push_back({{"label", label.label},
                      {"precision", label.precision()},
                      {"recall", label.recall()},
                      {"f1", label.f1()},
                      {"support", label.support},
                      {"predicted", label.predicted}});
  }
  for (const Confusion& pair : scores.confusions)
    confusions.push_back({{"reference", scores.labels[pair.reference].label},
                          {"hypothesis", scores.labels[pair.hypothesis].label},
                          {"lines", pair.count}});
  const int width = static_cast<int>(longest);
  std::string text =
      fmt::format("accuracy = {:.4f}\nmacro F1 = {:.4f} ({} labels)\n\n{:{}} precision  recall      F1 support\n",
                  scores.accuracy, scores.macro_f1, scores.labels.size(), "", width + 4);
  for (size_t i = 0; i < scores.labels.size(); ++i) {
    const LabelScore& label = scores.labels[i];
    text += fmt::format("{:>3} {:<{}} {:>9.4f} {:>7.4f} {:>7.4f} {:>7}\n", i + 1, shown_label(label.label), width,
                        label.precision(), label.recall(), label.f1(), label.support);
  }
  text += scores.labels.size() <= largest_table ? confusion_table(scores, width) : frequent_mistakes(scores, width);
  return {text,
          {{"accuracy", scores.accuracy},
           {"macro_f1", scores.macro_f1},
           {"labels", std::move(labels)},
           {"confusions", std::move(confusions)}}};
}

Lines in_lower_case(Lines lines) {
  for (std::string& line : lines) line = lower_case(line);
  return lines;
}

/// Of the lines that `classify` writes: what stands before the probability.
Lines labels_of(Lines lines) {
  for (std::string& line : lines) {
    check(!line.starts_with("{\""), "{} is no label; give what classify writes without --json", in_quotes(line, 60));
    line.resize(std::min(line.find('\t'), line.size()));
  }
  return lines;
}

Report report(const std::string& metric, const Lines& references, const Lines& hypotheses, bool lower_cased) {
  if (metric == "bleu") return report(score_bleu(references, hypotheses, lower_cased));
  if (metric == "chrf") return report(score_chrf(references, hypotheses, lower_cased));
  if (lower_cased) return report(metric, in_lower_case(references), in_lower_case(hypotheses), false);
  if (metric == "exact") return report_equal_lines(count_equal_lines(references, hypotheses), references.size());
  if (metric == "wer") return report(count_word_errors(references, hypotheses), "WER", "words");
  if (metric == "cer") return report(count_character_errors(references, hypotheses), "CER", "characters");
  return report(score_labels(labels_of(references), labels_of(hypotheses)));
}

}  // namespace

void score(const ScoreFlags& flags) {
  if (flags.reference == "-" && flags.hypothesis == "-")
    throw UsageError("score: both texts would come from standard input; name the file of one of them");
  const Lines references = read_lines(flags.reference), hypotheses = read_lines(flags.hypothesis);
  check(references.size() == hypotheses.size(),
        "{} has {} lines and {} has {}; each line needs the one that belongs to it", name_of_lines(flags.reference),
        references.size(), name_of_lines(flags.hypothesis), hypotheses.size());
  nlohmann::json all = {{"lines", references.size()}, {"lower_case", flags.lower_case}};
  const BusyWatch watch("scoring", false);
  for (const std::string& metric : flags.metrics) {
    Report one = report(metric, references, hypotheses, flags.lower_case);
    if (flags.json)
      all[metric] = std::move(one.json);
    else
      print_text(one.text);
  }
  if (flags.json) print("{}\n", all.dump(1));
}

}  // namespace vkformer
