// `vkformer embed`: a vector for each line, or the lines nearest to a text.

#include <nlohmann/json.hpp>

#include "models/embedding/embedder.h"
#include "models/text/tokenizer.h"
#include "models/text/unicode.h"
#include "runtime/check.h"
#include "runtime/files/safetensors.h"
#include "tools/cli/best_lines.h"
#include "tools/cli/commands.h"
#include "tools/cli/embedding_lines.h"
#include "tools/cli/line_pieces.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/picture_input.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_vectors.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

/// What the files say where the flags are silent.
EmbeddingRecipe recipe_of(const EmbedFlags& flags, const std::filesystem::path& folder) {
  EmbeddingRecipe recipe = embedding_recipe(folder);
  if (!flags.pooling.empty())
    recipe.pooling = pooling_named(flags.pooling);
  else if (!recipe.said && !flags.common.quiet)
    say("{} does not say which hidden states count: the mean of all is taken, unless --pooling says otherwise",
        flags.model);
  if (flags.prefix) recipe.text_prefix = *flags.prefix;
  if (flags.query_prefix) recipe.query_prefix = *flags.query_prefix;
  check(recipe.counts_prefix || (recipe.text_prefix.empty() && (!flags.query || recipe.query_prefix.empty())),
        "{}: its pooling leaves prompts out (include_prompt), which is not supported beside one; give --prefix '' and "
        "--query-prefix ''",
        flags.model);
  return recipe;
}

}  // namespace

void print_embedding(const char* kind, const std::string& of, const std::vector<float>& embedding, bool as_json) {
  if (as_json) return print("{}\n", nlohmann::json{{kind, of}, {"embedding", embedding}}.dump());
  std::string list;
  for (const float x : embedding) list += fmt::format("{}{}", list.empty() ? "" : ", ", x);
  print("[{}]\n", list);
}

void write_embeddings(const std::string& file, const Embeddings& embeddings) {
  std::vector<float> all;
  for (const auto& embedding : embeddings) all.insert(all.end(), embedding.begin(), embedding.end());
  const auto rows = std::ssize(embeddings);
  write_safetensors(file,
                    {TensorSource::of("embeddings", {rows, std::ssize(all) / rows}, std::span<const float>(all))});
}

void embed(const EmbedFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  if (!flags.pictures.empty()) return embed_pictures(flags, folder);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_embed(folder, flags.dtype, adapter.get());
  check_reads_lines(model, flags.model, "embed", model.reads_ids());
  const bool tower = model.task == Task::vector;
  if (tower && !flags.pooling.empty())
    throw UsageError(fmt::format("--pooling: {} makes vectors in its own way", flags.model));
  const EmbeddingRecipe recipe =
      tower
          ? EmbeddingRecipe{.query_prefix = flags.query_prefix.value_or(""), .text_prefix = flags.prefix.value_or("")}
          : recipe_of(flags, adapter && has_model_json(adapter->folder(), "modules.json") ? adapter->folder() : folder);
  const Tokenizer tokenizer = TokenizerFiles::load(tokenizer_folder(folder, adapter.get())).tokenizer();
  int64_t most = model.context > 0 ? model.context : usual_positions;
  if (recipe.most_tokens > 0) most = std::min(most, recipe.most_tokens);
  const auto fill = fill_of(model, folder, tokenizer);
  const auto add = [&](TokenTexts& texts, const std::string& text, const std::string& place) {
    texts.add(tokenizer, recipe.lower_case ? lower_case(text) : text, {}, most, place);
    if (fill) texts.fill_last(*fill, model.context);
  };
  const auto add_line = [&](TextsPiece& piece, const std::string& line, const std::string& place) {
    add(piece.tokens, recipe.text_prefix + line, place);
    piece.lines.push_back(line);
  };
  LinePieces<TextsPiece> pieces(LineInput::of(flags.text), flags.batch_tokens, add_line,
                                flags.query || !flags.out.empty());
  if (flags.query) add(pieces.waiting().front().tokens, recipe.query_prefix + *flags.query, "--query");
  std::vector<DenseLayer> dense;
  for (const std::string& path : recipe.dense) dense.push_back(DenseLayer::load(folder / path));
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  Embedder embedder(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter.get()),
                    backend->make_workspace(), recipe.pooling, std::move(dense));
  TextsProgress progress("texts", flags.common.quiet);
  int64_t cut = 0;
  pieces.answer_each(progress, "line", [&](const TextsPiece& piece) {
    const std::vector<std::string>& lines = piece.lines;
    Embeddings results(piece.tokens.ids.size());
    embed_by_length(embedder, piece.tokens, pieces.inputs(model), flags.batch_tokens,
                    [&](size_t text, std::vector<float> embedding) {
                      results[text] = std::move(embedding);
                      progress.add();
                      interrupt_if_asked();
                    });
    progress.clear();
    if (flags.query) {
      std::vector<double> cosines;
      for (size_t i = 0; i < lines.size(); ++i) cosines.push_back(similarity(results[i], results.back()));
      print_best_lines(lines, cosines, flags.top, "cosine", flags.common.json);
    } else if (!flags.out.empty()) {
      write_embeddings(flags.out, results);
    } else {
      for (size_t i = 0; i < lines.size(); ++i) print_embedding("text", lines[i], results[i], flags.common.json);
    }
    cut += piece.tokens.cut;
  });
  report_profile(*backend, flags.common, embedder.programs());
  progress.end(pieces.written(), "line", cut > 0 ? fmt::format("; {} cut at {} tokens", cut, most) : "");
}

}  // namespace vkformer
