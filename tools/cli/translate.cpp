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
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_argument.h"

namespace vkformer {

namespace {

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
    } else if (config.num_return_sequences > 1)
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
        : classifies(model) ? "classify"
                            : "fill, tag or answer");
  check_reads_text(model, flags.model);
  const PromptText tokenizer(folder, flags.source_language);
  const Languages& languages = tokenizer.languages();
  std::optional<TemplateToken> language;
  if (!flags.target_language.empty()) language = languages.find(flags.target_language);
  const bool in_text = language && languages.place() == Languages::Place::written;
  const std::string prefix = (in_text ? language->text + ' ' : "") + flags.prefix;
  const std::vector<std::string> lines =
      lines_argument(flags.given.contains("--prompt") ? std::optional(flags.prompt) : std::nullopt);
  // An empty line has an empty translation.
  std::vector<std::vector<int32_t>> sources;
  std::vector<size_t> places;
  int64_t cut = 0;
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i].find_first_not_of(" \t") != std::string::npos) {
      std::vector<int32_t> ids = tokenizer.encode(prefix + lines[i]);
      if (model.context > 0 && std::ssize(ids) > model.context) {
        check(flags.cut_long, "line {} has {} tokens, the model {} positions; split it, or give --cut-long", i + 1,
              ids.size(), model.context);
        ids = tokenizer.encode_within(model.context, prefix + lines[i]);
        ++cut;
      }
      sources.push_back(std::move(ids));
      places.push_back(i);
    }
  if (cut > 0) say("{} cut at {} tokens", counted(cut, "line"), model.context);
  auto [config, taken] = generation_settings(flags, folder, model, &tokenizer);
  if (language) write_language(config, *language, languages, model.family);
  if (!language && lacks_target_language(config, languages, model.family))
    throw UsageError(
        fmt::format("the model writes many languages; name one by --target-lang, and that of the lines "
                    "by --source-lang, which is {} now",
                    languages.own().text));
  const Weights files(model.parameters, folder);
  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  SearchByLength search{.config = config, .cache_type = cache_type(flags.cache_dtype)};
  if (flags.batch_tokens > 0) search.positions = flags.batch_tokens;
  const auto weights =
      sources.empty() ? nullptr : load_store(*backend, model, files, flags.common.quiet, adapter.get());
  ProfileReport profile(*backend, flags.common);
  search.ran = [&](const Generator& generator, int64_t rows, int64_t length) {
    profile.add(generator, fmt::format(", {} of {} tokens", counted(rows, "source"), length));
  };
  const double start = now();
  int64_t done = 0, written = 0;
  Progress bar(std::ssize(sources), flags.common.quiet);
  std::vector<std::vector<Hypothesis>> results(lines.size());
  search.run(*backend, model, weights, sources, [&](size_t source, std::vector<Hypothesis> best) {
    if (!best.empty()) written += std::ssize(best.front().ids);
    results[places[source]] = std::move(best);
    ++done;
    bar.show(done, fmt::format("{:.1f} lines/s", static_cast<double>(done) / (now() - start)));
  });
  bar.clear();
  for (size_t i = 0; i < lines.size(); ++i) {
    if (results[i].empty()) results[i].push_back({});
    print_line(flags, config, tokenizer, lines[i], results[i]);
  }
  profile.write();
  check_output();
  if (!flags.common.quiet) {
    const double seconds = now() - start;
    say("{} in {:.1f} s: {:.1f} lines/s, {:.1f} tokens/s", counted(std::ssize(lines), "line"), seconds,
        static_cast<double>(lines.size()) / seconds, static_cast<double>(written) / seconds);
  }
}

}  // namespace vkformer
