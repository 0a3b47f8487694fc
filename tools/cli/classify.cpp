// `vkformer classify`: a label for each line.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/classification/candidate_claims.h"
#include "models/classification/classifier.h"
#include "models/classification/entailment.h"
#include "models/classification/relevance.h"
#include "models/families/config_keys.h"
#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/best_lines.h"
#include "tools/cli/class_lines.h"
#include "tools/cli/commands.h"
#include "tools/cli/line_pieces.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/picture_input.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

/// The line, or the pair that a tab makes of it.
void add_text_or_pair(TokenTexts& texts, std::string_view line, const Tokenizer& tokenizer, int64_t most,
                      std::string_view place) {
  const size_t tab = line.find('\t');
  check(tab == line.rfind('\t'), "{} has more than one tab; one stands between the two texts of a pair", place);
  const auto second = tab == line.npos ? std::nullopt : std::optional(line.substr(tab + 1));
  texts.add(tokenizer, line.substr(0, tab), second, most, place);
}

/// Without the blanks around them. Throws UsageError for none, and for one that comes twice.
std::vector<std::string> trimmed(const std::vector<std::string>& candidates) {
  std::vector<std::string> names;
  for (const std::string& candidate : candidates) {
    constexpr const char* blanks = " \t\r\n";
    const size_t first = candidate.find_first_not_of(blanks);
    if (first == std::string::npos) continue;
    names.push_back(candidate.substr(first, candidate.find_last_not_of(blanks) + 1 - first));
    if (std::ranges::count(names, names.back()) > 1)
      throw UsageError(fmt::format("--candidates has {} twice", in_quotes(names.back())));
  }
  if (names.empty() && !candidates.empty()) throw UsageError("--candidates names none; give A,B,..");
  return names;
}

void print_number(const std::string& text, float number, bool as_json) {
  as_json ? print("{}\n", nlohmann::json{{"text", text}, {"number", number}}.dump()) : print("{:.6g}\n", number);
}

}  // namespace

void print_classes(const ClassifyFlags& flags, const char* kind, const std::string& of,
                   const std::vector<double>& probabilities, const std::vector<std::string>& names) {
  const auto best = static_cast<size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
  if (!flags.common.json && flags.several) {
    for (size_t i = 0; i < names.size(); ++i)
      print("{}{}\t{:.4f}", i == 0 ? "" : "\t", printable(names[i]), probabilities[i]);
    return print("\n");
  }
  if (!flags.common.json)  // lines are those of standard input; of several files each is named
    return print("{}\t{:.4f}{}\n", printable(names[best]), probabilities[best],
                 flags.pictures.size() > 1 ? '\t' + printable(of) : "");
  nlohmann::json json = {{kind, of}, {"label", names[best]}, {"probability", probabilities[best]}};
  for (size_t i = 0; i < names.size(); ++i) json["probabilities"][names[i]] = probabilities[i];
  print("{}\n", json.dump());
}

void classify(ClassifyFlags flags) {
  flags.candidates = trimmed(flags.candidates);
  const auto folder = resolve_model_folder(flags.model);
  if (!flags.pictures.empty()) return classify_pictures(flags, folder);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check_reads_lines(model, flags.model, "classify", !model.sees());
  check(classifies(model) || gives_numbers(model),
        "{} is a {} model that gives no class of a text; train one with --labels", flags.model, model.family);
  const JsonObject config = JsonObject::make(*model.config, flags.model);
  const std::vector<std::string> names = classes_of(config, 1);
  check(!flags.query || names.size() == 1, "{} has {} classes; --query is for rerankers, which have one", flags.model,
        names.size());
  const Relevance relevance = flags.query ? relevance_of(config) : Relevance::sigmoid;
  const bool claims = !flags.candidates.empty();
  if (gives_numbers(model) && (flags.query || claims || flags.several))
    throw UsageError(
        fmt::format("{} gives a number of each text; leave out --query, --candidates and --multi-label", flags.model));
  const EntailmentClasses entailment = claims ? EntailmentClasses::of(names, flags.model) : EntailmentClasses();
  const Tokenizer tokenizer = TokenizerFiles::load(tokenizer_folder(folder, adapter.get())).tokenizer();
  const int64_t most = model.context > 0 ? model.context : usual_positions;
  std::optional<CandidateClaims> said;
  if (claims) said.emplace(flags.hypothesis.value_or("This example is {}."), flags.candidates, tokenizer, most);
  const auto add = [&](TextsPiece& piece, const std::string& line, const std::string& place) {
    if (said)
      said->add(piece.tokens, line, place);
    else if (flags.query)
      piece.tokens.add(tokenizer, *flags.query, line, most, place);
    else
      add_text_or_pair(piece.tokens, line, tokenizer, most, place);
    piece.lines.push_back(line);
  };
  LinePieces<TextsPiece> pieces(LineInput::of(flags.text), flags.batch_tokens, add, flags.query.has_value());
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Classifier classifier(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter.get()),
                        backend->make_workspace());
  TextsProgress progress(claims || flags.query ? "pairs" : "lines", flags.common.quiet);
  const size_t each = claims ? flags.candidates.size() : 1;
  int64_t cut = 0;
  pieces.answer_each(progress, "line", [&](const TextsPiece& piece) {
    std::vector<std::vector<float>> logits(piece.tokens.ids.size());
    classify_by_length(classifier, piece.tokens, pieces.inputs(model), flags.batch_tokens,
                       [&](size_t text, std::span<const float> row) {
                         logits[text].assign(row.begin(), row.end());
                         progress.add();
                         interrupt_if_asked();
                       });
    progress.clear();
    cut += piece.tokens.cut;
    if (flags.query) {
      std::vector<double> scores;
      for (const auto& row : logits) scores.push_back(relevance_score(relevance, row.front()));
      return print_best_lines(piece.lines, scores, flags.top, "score", flags.common.json);
    }
    for (size_t i = 0; i < piece.lines.size(); ++i) {
      const auto rows = std::span(logits).subspan(i * each, each);
      if (gives_numbers(model)) {
        print_number(piece.lines[i], rows.front().front(), flags.common.json);
        continue;
      }
      const auto shares =
          claims ? candidate_shares(rows, entailment, flags.several) : classifier.probabilities_of(rows.front());
      print_classes(flags, "text", piece.lines[i], shares, claims ? flags.candidates : names);
    }
  });
  report_profile(*backend, flags.common, classifier.logits().programs());
  progress.end(
      pieces.written(), "line",
      cut > 0 ? fmt::format("; {}{} cut at {} tokens", cut, claims || flags.query ? " of the pairs" : "", most) : "");
}

}  // namespace vkformer
