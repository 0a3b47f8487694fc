// `vkformer translate`: a line out for each line in, through any encoder-decoder.

#include <limits>
#include <nlohmann/json.hpp>

#include "models/classification/classifier.h"
#include "models/generation/search_by_length.h"
#include "models/generation/target_language.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_settings.h"
#include "tools/cli/line_pieces.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"

namespace vkformer {

namespace {

struct TranslatePiece {
  std::vector<std::string> lines;
  TokenTexts sources;          ///< of those that are not empty
  std::vector<size_t> places;  ///< of each source: its line
  const TokenTexts& texts() const { return sources; }
  size_t count() const { return lines.size(); }
};

/// One line of output, whatever the text.
std::string on_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

void print_line(const GenerateFlags& flags, const GenerationConfig& config, const PromptText& tokenizer,
                const std::string& source, const std::vector<Hypothesis>& best) {
  const bool scored = config.num_beams > 1;
  auto json = nlohmann::json{{"source", source}, {"hypotheses", nlohmann::json::array()}};
  const auto add = [&](const Hypothesis& hypothesis) {
    const std::string text = on_one_line(tokenizer.target().decode(hypothesis.ids));
    if (flags.common.json) {
      json["hypotheses"].push_back({{"text", text}});
      if (scored) json["hypotheses"].back()["score"] = hypothesis.score;
    } else if (scored && config.num_return_sequences > 1)
      print("{:.4f}\t{}\n", hypothesis.score, text);
    else
      print("{}\n", text);
  };
  for (const Hypothesis& hypothesis : best) add(hypothesis);
  // Whoever asks for several rows of a line counts on so many.
  for (int64_t row = std::ssize(best); row < config.num_return_sequences && !flags.common.json; ++row)
    add({.score = -std::numeric_limits<double>::infinity()});
  if (flags.common.json) print("{}\n", json.dump());
}

}  // namespace

void translate(GenerateFlags flags) {
  const auto folder = resolve_model_folder(flags.model);
  const auto adapter = open_adapter(flags.adapter, folder);
  if (const auto trained = adapter ? languages_of(*adapter) : std::nullopt;
      trained && flags.source_language.empty() && flags.target_language.empty()) {
    flags.source_language = trained->source;
    flags.target_language = trained->target;
  }
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(model.has_encoder(), "translate needs an encoder-decoder that writes, {} is a {} model; use {}", flags.model,
        model.family,
        model.generates()   ? "generate"
        : model.sees()      ? "classify or embed"
        : classifies(model) ? "classify"
                            : "fill, tag or answer");
  check_reads_text(model, flags.model);
  const PromptText tokenizer(folder, flags.source_language);
  const Languages& languages = tokenizer.languages();
  std::optional<TemplateToken> language;
  if (!flags.target_language.empty()) language = languages.find(flags.target_language);
  const bool in_text = language && languages.place() == Languages::Place::written;
  const std::string prefix = (in_text ? language->text + ' ' : "") + flags.prefix;
  auto [config, taken] = generation_settings(flags, folder, model, &tokenizer);
  if (language) write_language(config, *language, languages, model.family);
  if (!language && lacks_target_language(config, languages, model.family))
    throw UsageError(
        fmt::format("the model writes many languages; name one by --target-lang, and that of the lines "
                    "by --source-lang, which is {} now",
                    languages.own().text));
  SearchByLength search{.config = config, .cache_type = cache_type(flags.cache_dtype), .on_step = interrupt_if_asked};
  if (flags.batch_tokens > 0) search.positions = flags.batch_tokens;
  int64_t cut = 0;
  const auto add = [&](TranslatePiece& piece, const std::string& line, const std::string& place) {
    piece.lines.push_back(line);
    if (line.find_first_not_of(" \t") == std::string::npos) return;  // an empty line has an empty translation
    std::vector<int32_t> ids = tokenizer.encode(prefix + line);
    if (model.context > 0 && std::ssize(ids) > model.context) {
      check(flags.cut_long, "{} has {} tokens, the model {} positions; split it, or give --cut-long", place, ids.size(),
            model.context);
      ids = tokenizer.encode_within(model.context, prefix + line);
      ++cut;
    }
    piece.sources.ids.push_back(std::move(ids));
    piece.places.push_back(piece.lines.size() - 1);
  };
  const int64_t positions = std::max<int64_t>(search.positions / config.rows(), 1);
  LinePieces<TranslatePiece> pieces(
      LineInput::of(flags.given.contains("--prompt") ? std::optional(flags.prompt) : std::nullopt), positions, add);
  const Weights files(model.parameters, folder);
  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  const auto weights = load_store(*backend, model, files, flags.common.quiet, adapter.get());
  ProfileReport profile(*backend, flags.common);
  search.ran = [&](const Generator& generator, int64_t rows, int64_t length) {
    profile.add(generator, fmt::format(", {} of {} tokens", counted(rows, "source"), length));
  };
  int64_t tokens = 0;
  SearchByLength::Kept kept{.workspace = backend->make_workspace()};
  TextsProgress progress("lines", flags.common.quiet);
  pieces.answer_each(progress, "line", [&](const TranslatePiece& piece) {
    std::vector<std::vector<Hypothesis>> results(piece.lines.size());
    kept.shapes = pieces.shapes();
    search.run(
        *backend, model, weights, piece.sources.ids,
        [&](size_t source, std::vector<Hypothesis> best) {
          if (!best.empty()) tokens += std::ssize(best.front().ids);
          results[piece.places[source]] = std::move(best);
          progress.add();
        },
        kept);
    progress.clear();
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) results[i].push_back({});
      print_line(flags, config, tokenizer, piece.lines[i], results[i]);
    }
  });
  search.leave(kept);
  profile.write();
  if (cut > 0) say("{} cut at {} tokens", counted(cut, "line"), model.context);
  progress.end(pieces.written(), "line",
               fmt::format(", {:.1f} tokens/s", static_cast<double>(tokens) / progress.seconds()));
}

}  // namespace vkformer
