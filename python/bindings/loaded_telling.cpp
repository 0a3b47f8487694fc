// What a loaded model tells of texts.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/classification/candidate_claims.h"
#include "models/classification/entailment.h"
#include "models/data/masked.h"
#include "models/embedding/recipe.h"
#include "models/families/registry.h"
#include "models/filling/filled_text.h"
#include "models/text/unicode.h"
#include "python/bindings/loaded_model.h"
#include "runtime/check.h"

namespace vkformer::python {

namespace {

void check_positions(int64_t of_a_batch) { check(of_a_batch > 0, "batch_tokens must be at least 1"); }

void check_reads(const Model& model) {
  check(!model.sees() && model.task != Task::vector,
        "this {} model is one for pictures and their texts; the command's classify and embed run it", model.family);
}

std::string place_of(size_t text) { return fmt::format("text {}", text); }

}  // namespace

Floats LoadedModel::embed(const std::vector<std::string>& texts, bool query, int64_t batch_positions) {
  const Running running(session());
  check_reads(model());
  check_positions(batch_positions);
  const EmbeddingRecipe& recipe = texts_->recipe();
  const Tokenizer& tokenizer = texts_->tokenizer();
  int64_t most = most_positions();
  if (recipe.most_tokens > 0) most = std::min(most, recipe.most_tokens);
  TokenTexts token_texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::string whole = (query ? recipe.query_prefix : recipe.text_prefix) + texts[i];
    token_texts.add(tokenizer, recipe.lower_case ? lower_case(whole) : whole, {}, most, fmt::format("text {}", i));
  }
  if (!embedder_) {
    headless_ = std::make_shared<Model>(without_head(model()));
    std::vector<DenseLayer> dense;
    for (const std::string& path : recipe.dense) dense.push_back(DenseLayer::load(texts_->folder() / path));
    embedder_ = std::make_unique<Embedder>(*session().backend, *headless_, weights_.store, weights_.workspace,
                                           recipe.pooling, std::move(dense));
  }
  std::vector<std::vector<float>> rows(texts.size());
  Interrupts interrupts;
  embed_by_length(*embedder_, token_texts, text_inputs(*headless_, token_texts.largest_segment()), batch_positions,
                  [&](size_t i, std::vector<float> row) {
                    rows[i] = std::move(row);
                    interrupts.check();
                  });
  Floats floats{{std::ssize(texts), rows.empty() ? 0 : std::ssize(rows.front())}, {}};
  for (const auto& row : rows) floats.values.insert(floats.values.end(), row.begin(), row.end());
  return floats;
}

std::vector<std::vector<float>> LoadedModel::class_logits(const TokenTexts& texts, int64_t batch_positions) {
  if (!classifier_)
    classifier_ = std::make_unique<Classifier>(*session().backend, model(), weights_.store, weights_.workspace);
  std::vector<std::vector<float>> logits(texts.ids.size());
  Interrupts interrupts;
  classify_by_length(*classifier_, texts, text_inputs(model(), texts.largest_segment()), batch_positions,
                     [&](size_t i, std::span<const float> row) {
                       logits[i].assign(row.begin(), row.end());
                       interrupts.check();
                     });
  return logits;
}

Floats LoadedModel::classify(const std::vector<TextOrPair>& texts, int64_t batch_positions) {
  const Running running(session());
  check_reads(model());
  check(classifies(model()), "this {} model gives no class of a text", model().family);
  check_positions(batch_positions);
  const Tokenizer& tokenizer = texts_->tokenizer();
  TokenTexts token_texts;
  for (size_t i = 0; i < texts.size(); ++i)
    token_texts.add(tokenizer, texts[i].first, texts[i].second, most_positions(), place_of(i));
  Floats floats{{std::ssize(texts), std::ssize(labels())}, {}};
  for (const auto& logits : class_logits(token_texts, batch_positions))
    for (const double share : classifier_->probabilities_of(logits)) floats.values.push_back(static_cast<float>(share));
  return floats;
}

Floats LoadedModel::classify_among(const std::vector<std::string>& texts, const Candidates& candidates,
                                   int64_t batch_positions) {
  const Running running(session());
  check_reads(model());
  check(classifies(model()), "this {} model gives no class of a text", model().family);
  check_positions(batch_positions);
  const auto entailment = EntailmentClasses::of(labels(), "this model");
  const CandidateClaims claims(candidates.hypothesis, candidates.names, texts_->tokenizer(), most_positions());
  TokenTexts token_texts;
  for (size_t i = 0; i < texts.size(); ++i) claims.add(token_texts, texts[i], place_of(i));
  const auto logits = class_logits(token_texts, batch_positions);
  Floats floats{{std::ssize(texts), static_cast<int64_t>(claims.count())}, {}};
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto rows = std::span(logits).subspan(i * claims.count(), claims.count());
    for (const double share : candidate_shares(rows, entailment, candidates.several))
      floats.values.push_back(static_cast<float>(share));
  }
  return floats;
}

nlohmann::json LoadedModel::fill(const std::vector<std::string>& texts, size_t most, int64_t batch_positions) {
  const Running running(session());
  check(predicts_masked_words(model()), "this {} model predicts no masked words", model().family);
  check(most > 0, "top must be at least 1");
  check_positions(batch_positions);
  const Tokenizer& tokenizer = texts_->tokenizer();
  const int32_t mask = mask_id(tokenizer, "the model's tokenizer");
  TokenTexts token_texts;
  for (size_t i = 0; i < texts.size(); ++i)
    add_masked_text(token_texts, texts[i], tokenizer, mask, model(), place_of(i));
  if (!masked_words_)
    masked_words_ = std::make_unique<MaskedWords>(*session().backend, model(), weights_.store, weights_.workspace);
  std::vector<nlohmann::json> filled(texts.size());
  Interrupts interrupts;
  fill_by_length(*masked_words_, token_texts, text_inputs(model(), token_texts.largest_segment()), batch_positions,
                 mask, most, [&](size_t i, const MaskCandidates& candidates) {
                   filled[i] = FilledText(tokenizer, texts[i], mask, candidates).json();
                   interrupts.check();
                 });
  return filled;
}

nlohmann::json LoadedModel::tag(const std::vector<std::vector<std::string>>& texts, int64_t batch_positions) {
  const Running running(session());
  check(model().task == Task::tag, "this {} model gives no tags of words", model().family);
  check_positions(batch_positions);
  WordWindows windows;
  for (size_t i = 0; i < texts.size(); ++i) windows.add(texts_->tokenizer(), texts[i], most_positions(), place_of(i));
  if (!tagger_) tagger_ = std::make_unique<Tagger>(*session().backend, model(), weights_.store, weights_.workspace);
  Interrupts interrupts;
  const auto tags = tag_words(*tagger_, windows, text_inputs(model(), windows.texts.largest_segment()), batch_positions,
                              [&](size_t) { interrupts.check(); });
  const std::vector<std::string> names = labels();
  auto tagged = nlohmann::json::array();
  for (size_t i = 0; i < texts.size(); ++i) tagged.push_back(tags_json(texts[i], tags[i], names));
  return tagged;
}

nlohmann::json LoadedModel::answer(const std::vector<std::pair<std::string, std::string>>& asked, int64_t stride,
                                   int64_t batch_positions) {
  const Running running(session());
  check(model().task == Task::answer, "this {} model finds no answers", model().family);
  check_positions(batch_positions);
  QuestionEncoder encoder(texts_->tokenizer(),
                          {.positions = most_positions(), .stride = stride_of(stride, most_positions())});
  AskedQuestions windows;
  for (size_t i = 0; i < asked.size(); ++i)
    windows.add(encoder.encode(asked[i].first, asked[i].second, {}, fmt::format("question {}", i)));
  if (!answerer_)
    answerer_ = std::make_unique<Answerer>(*session().backend, model(), weights_.store, weights_.workspace);
  Interrupts interrupts;
  const auto answers = answerer_->answer(windows, text_inputs(model(), windows.texts.largest_segment()),
                                         batch_positions, [&](size_t) { interrupts.check(); });
  auto found = nlohmann::json::array();
  for (size_t i = 0; i < asked.size(); ++i) found.push_back(answer_json(asked[i].first, asked[i].second, answers[i]));
  return found;
}

}  // namespace vkformer::python
