// `train --similar`: a model without a head learns to give similar texts vectors that are near each other.

#include <map>

#include "models/data/similar_rows.h"
#include "models/embedding/embedder.h"
#include "models/model_files.h"
#include "models/model_folder.h"
#include "models/text/unicode.h"
#include "models/training/training_graph.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/output.h"
#include "tools/cli/similar_score.h"

namespace vkformer {

namespace {

constexpr int64_t usual_queries = 64;

/// How embeddings are made, and the files that say it, by their names.
struct Recipe {
  EmbeddingRecipe embedding;
  std::map<std::string, std::string> files;
};

Recipe recipe_of(const TrainFlags& flags, const std::filesystem::path& checkpoint, const Model& model) {
  Recipe recipe;
  std::filesystem::path folder = checkpoint;
  const bool begins = folder.empty() || !std::filesystem::exists(folder / "modules.json");
  if (begins && !flags.from.empty()) folder = resolve_model_folder(flags.from);
  if (!folder.empty()) recipe.embedding = embedding_recipe(folder);
  EmbeddingRecipe& said = recipe.embedding;
  check(said.dense.empty(), "{}: layers behind the pooling ({}) are not trained; leave them out of its modules.json",
        folder.generic_string(), said.dense.empty() ? "" : said.dense.front());
  check(said.counts_prefix || (said.query_prefix.empty() && said.text_prefix.empty()),
        "{}: its pooling leaves prompts out (include_prompt), which is not supported beside one",
        folder.generic_string());
  if (!said.said) {
    said.pooling = !flags.pooling.empty()       ? pooling_named(flags.pooling)
                   : model.task == Task::causal ? Pooling::last
                                                : Pooling::mean;
  } else if (!flags.pooling.empty() && pooling_named(flags.pooling) != said.pooling) {
    throw UsageError(fmt::format("--pooling {}: the files in {} say {}; leave it out", flags.pooling,
                                 folder.generic_string(), name_of(said.pooling)));
  }
  if (said.said && !is_gguf(folder))
    for (const char* name : embedding_files)
      if (std::filesystem::exists(folder / name)) recipe.files[name] = std::string(MappedFile(folder / name).text());
  return recipe;
}

void write_recipe(const Recipe& recipe, int64_t width, const std::filesystem::path& folder) {
  if (recipe.files.empty()) return write_pooling(folder, recipe.embedding.pooling, width);
  for (const auto& [name, content] : recipe.files) {
    std::filesystem::create_directories((folder / name).parent_path());
    write_file_atomically(folder / name, content);
  }
}

SimilarTexts encode_rows(const SimilarRows& rows, const EmbeddingRecipe& recipe, const Tokenizer& tokenizer,
                         int64_t most) {
  SimilarTexts encoded{.texts = {}, .each = rows.texts};
  for (const SimilarRow& row : rows.rows)
    for (size_t i = 0; i < row.texts.size(); ++i) {
      const std::string text = (i == 0 ? recipe.query_prefix : recipe.text_prefix) + row.texts[i];
      encoded.texts.add(tokenizer, recipe.lower_case ? lower_case(text) : text, {}, most,
                        fmt::format("{}:{}", rows.name, row.line));
    }
  return encoded;
}

/// What the words that queries and texts have in common find.
std::string baseline_text(const SimilarRows& rows, const SimilarData& data) {
  std::vector<int64_t> all;
  for (int64_t row = 0; row < std::ssize(rows.rows); ++row) all.push_back(row);
  const Retrieval search = retrieval_of(data.identities(LengthData::Split::validation), rows.texts, all);
  const auto texts_at = [&](const std::vector<uint32_t>& places) {
    std::vector<std::string> texts;
    for (const auto place : places) {
      const auto each = static_cast<uint32_t>(rows.texts);
      texts.push_back(rows.rows[place / each].texts[place % each]);
    }
    return texts;
  };
  const std::vector<std::string> queries = texts_at(search.queries), texts = texts_at(search.texts);
  return fmt::format("\nto beat in validation: words in common (TF-IDF) {}",
                     text_of(score_ranks(ranks_by_words(queries, texts, search.wanted))));
}

}  // namespace

TrainJob similar_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const auto rows_of = [](const RunFile& file) { return read_similar_rows(file.content, file.path); };
  const SimilarRows training = rows_of(*find_file(files, "similar"));
  const RunFile* validated = find_file(files, "valid similar");
  SimilarRows validation{.name = "", .texts = training.texts, .rows = {}};
  if (validated) validation = rows_of(*validated);
  check(training.texts == validation.texts, "{} has {} texts of a row, {} has {}", training.name, training.texts,
        validation.name, validation.texts);
  const EncoderText text = EncoderText::load(flags, checkpoint, "--similar");
  TrainJob job = encoder_job(flags, checkpoint, text, {.architecture = "", .rows = usual_queries});
  Model& model = *job.model;
  check(model.reads_ids() && model.task != Task::vector && model.task != Task::match,
        "--similar trains no {} model; encoders of texts and decoders are", model.family);
  const Recipe recipe = recipe_of(flags, checkpoint, model);
  if (recipe.embedding.most_tokens > 0 && !flags.given.contains("--context") && !flags.resume)
    flags.context = std::min(flags.context, recipe.embedding.most_tokens);
  model = that_learns_similarity(without_head(std::move(model)),
                                 {.texts = training.texts, .scale = flags.similarity_scale});
  if (flags.label_smoothing > 0) model.label_smoothing = flags.label_smoothing;

  SimilarTexts trained = encode_rows(training, recipe.embedding, text.tokenizer, flags.context),
               valid = encode_rows(validation, recipe.embedding, text.tokenizer, flags.context);
  job.summary = fmt::format(
      "{} of {} of {:.1f} tokens, pooled by the {}", counted(trained.rows(), "row"), trained.each,
      static_cast<double>(trained.texts.tokens()) / static_cast<double>(trained.texts.ids.size()),
      recipe.embedding.pooling == Pooling::mean ? "mean" : fmt::format("{} token", name_of(recipe.embedding.pooling)));
  if (validated) job.summary += fmt::format(", {} for validation", counted(valid.rows(), "row"));
  if (const int64_t cut = trained.texts.cut + valid.texts.cut; cut > 0)
    job.summary += fmt::format("; {} cut at {} tokens (--context)", cut, flags.context);
  const SimilarData::Settings settings{
      .batches = {.positions = flags.batch_tokens, .most_rows = flags.batch, .seed = flags.settings.seed},
      .inputs = text_inputs(model, 0),
      .pooling = recipe.embedding.pooling};
  auto data = std::make_unique<SimilarData>(std::move(trained), std::move(valid), settings);
  if (validated) job.summary += baseline_text(validation, *data);
  job.summary += '\n' + data->describe("queries");
  if (validated)
    job.scorer =
        std::make_unique<SimilarScorer>(model, *data, flags.evaluation_batches * flags.batch, flags.batch_tokens);
  job.write_text = [write = std::move(job.write_text), recipe,
                    width = width_of(model)](const std::filesystem::path& out) {
    write(out);
    write_recipe(recipe, width, out);
  };
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
