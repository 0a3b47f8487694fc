// Masked words: which tokens a batch hides, and what models make of the places.

#include <algorithm>
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <map>
#include <set>

#include "models/data/masked.h"
#include "models/filling/masked_words.h"
#include "models/parameters.h"
#include "models/score/unigram_baseline.h"
#include "models/text/tokenizer.h"
#include "models/weights.h"
#include "runtime/files/safetensors.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr int32_t no_word = 0, begin_mark = 1, end_mark = 2, hidden_mark = 3, first_word = 4, word_count = 200;

Masking some_masking(uint32_t seed = 7) {
  Masking masking{.share = 0.15, .mask = hidden_mark, .ordinary = {}, .seed = seed};
  for (int32_t id = first_word; id < first_word + word_count; ++id) masking.ordinary.push_back(id);
  return masking;
}

/// [CLS] some words [SEP] for each length.
TokenTexts texts_of_lengths(const std::vector<int64_t>& lengths) {
  TokenTexts texts;
  for (int64_t length : lengths) {
    std::vector<int32_t> ids = some_ids(length, word_count, 31);
    for (int32_t& id : ids) id += first_word;
    ids.insert(ids.begin(), begin_mark);
    ids.push_back(end_mark);
    texts.segments.emplace_back(ids.size(), 0);
    texts.ids.push_back(std::move(ids));
  }
  return texts;
}

MaskedData masked_data(const TokenTexts& training, const TokenTexts& validation, const Masking& masking,
                       int64_t positions = 4096) {
  return {training,
          validation,
          {.batches = {.positions = positions, .most_shapes = 1}, .inputs = {.padding = no_word}, .masking = masking}};
}

/// Whether a share of `count` draws is within four standard deviations of its chance.
bool is_likely(int64_t hits, int64_t count, double chance) {
  const auto expected = static_cast<double>(count) * chance;
  return std::abs(static_cast<double>(hits) - expected) < 4 * std::sqrt(expected * (1 - chance));
}

}  // namespace

TEST_CASE("15 % of the words are hidden, 80 % of these by the mask and 10 % by a word", "[masked]") {
  const MaskedData data = masked_data(texts_of_lengths(std::vector<int64_t>(300, 100)), {}, some_masking());
  int64_t words = 0, chosen = 0, marked = 0, kept = 0;
  std::map<int32_t, int64_t> drawn;
  for (int64_t number = 0; number < data.epoch(); ++number) {
    const DataBatch batch = data.training_batch(number);
    const auto &ids = batch.values("ids"), &targets = batch.values("targets"), &mask = batch.values("mask");
    REQUIRE(targets.size() == ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      if (targets[i] == ignored_target) {
        CHECK(ids[i] != hidden_mark);
        words += ids[i] >= first_word;
        continue;
      }
      CHECK((targets[i] >= first_word && mask[i] == 1));  // no special token, no padding
      ++words;
      ++chosen;
      marked += ids[i] == hidden_mark;
      kept += ids[i] == targets[i];
      if (ids[i] != hidden_mark && ids[i] != targets[i]) ++drawn[ids[i]];
    }
  }
  CHECK(words == 300 * 100);
  CHECK(is_likely(chosen, words, 0.15));
  CHECK(is_likely(marked, chosen, 0.8));
  CHECK(is_likely(kept, chosen, 0.1 + 0.1 / word_count));  // a drawn word may be the same
  CHECK(drawn.size() > word_count * 2 / 3);
  CHECK(drawn.begin()->first >= first_word);
}

TEST_CASE("what a batch hides follows from its number and the seed", "[masked]") {
  const TokenTexts texts = texts_of_lengths({60, 80, 90}), valid = texts_of_lengths({70, 75});
  const MaskedData data = masked_data(texts, valid, some_masking());
  REQUIRE(data.epoch() == 1);  // so the next epoch has the same texts
  const DataBatch first = data.training_batch(0), second = data.training_batch(1);
  CHECK(data.training_batch(0).inputs == first.inputs);
  CHECK(masked_data(texts, valid, some_masking()).training_batch(0).inputs == first.inputs);
  CHECK(masked_data(texts, valid, some_masking(8)).training_batch(0).values("targets") != first.values("targets"));
  const auto places_of = [](const DataBatch& batch) {
    std::map<int32_t, std::vector<size_t>> places;  // by the length of the text
    const auto width = static_cast<size_t>(batch.shape.positions);
    for (size_t i = 0; i < batch.values("targets").size(); ++i) {
      const auto row = std::span(batch.values("mask")).subspan(i / width * width, width);
      const auto length = static_cast<int32_t>(std::ranges::count(row, 1));
      if (batch.values("targets")[i] != ignored_target) places[length].push_back(i % width);
    }
    return places;
  };
  const auto before = places_of(first), after = places_of(second);
  REQUIRE(before.size() == 3);
  for (const auto& [length, places] : before) CHECK(after.at(length) != places);
  CHECK(data.validation_batch(0, 1).values("targets") != first.values("targets"));
}

TEST_CASE("validation hides the same words, whatever part of it is asked for", "[masked]") {
  const MaskedData data =
      masked_data(texts_of_lengths({20}), texts_of_lengths(std::vector<int64_t>(500, 20)), some_masking());
  const int64_t all = data.validation_batches();
  REQUIRE(all >= 2);
  CHECK(data.validation_batch(1, 2).inputs == data.validation_batch(all / 2, all).inputs);
  CHECK(data.validation_batch(0, all).values("targets") != data.validation_batch(1, all).values("targets"));
  // In batches of other sizes, too.
  const auto hidden = [&](int64_t longest, int64_t positions) {
    const MaskedData cut =
        masked_data(texts_of_lengths({longest}), texts_of_lengths({5, 20, 13}), some_masking(), positions);
    std::multiset<int32_t> targets;
    for (int64_t i = 0; i < cut.validation_batches(); ++i) {
      const DataBatch batch = cut.validation_batch(i, cut.validation_batches());
      for (const int32_t target : batch.values("targets"))
        if (target != ignored_target) targets.insert(target);
    }
    return targets;
  };
  CHECK(hidden(20, 4096) == hidden(40, 22));
}

TEST_CASE("every text with a word has a target, and only such", "[masked]") {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 400; ++i) lengths.push_back(i % 3);
  const TokenTexts texts = texts_of_lengths(lengths);
  const Masking masking = some_masking();
  CHECK_FALSE(masking.applies_to(texts.ids[0]));
  CHECK(masking.applies_to(texts.ids[1]));
  const MaskedData data = masked_data(texts, {}, masking);
  std::vector<int64_t> firsts(2, 0);  // of texts of two words: which was chosen where one was
  for (int64_t number = 0; number < data.epoch(); ++number) {
    const DataBatch batch = data.training_batch(number);
    const auto width = static_cast<size_t>(batch.shape.positions);
    for (size_t row = 0; row < static_cast<size_t>(batch.shape.rows); ++row) {
      const auto targets = std::span(batch.values("targets")).subspan(row * width, width);
      const auto words = std::ranges::count(std::span(batch.values("mask")).subspan(row * width, width), 1) - 2;
      const auto chosen = std::ranges::count_if(targets, [](int32_t target) { return target != ignored_target; });
      CHECK((words > 0) == (chosen > 0));
      if (words == 2 && chosen == 1) ++firsts[targets[1] == ignored_target];
    }
  }
  CHECK(is_likely(firsts[0], firsts[0] + firsts[1], 0.5));
}

TEST_CASE("ordinary ids are those without special tokens", "[masked]") {
  const Tokenizer tokenizer = Tokenizer::load(fixtures / "tokenizers/bert/tokenizer.json");
  CHECK(tokenizer.special_ids() == std::set<int32_t>{0, 1, 2, 3, 4});
  const std::vector<int32_t> ids = ordinary_ids(tokenizer, {0, 17});
  CHECK(static_cast<int64_t>(ids.size()) == tokenizer.size() - 6);
  CHECK(ids.front() == 5);
  CHECK_FALSE(std::ranges::binary_search(ids, 17));
  // Not marked as special, but put around texts.
  const Tokenizer plain = Tokenizer::load(fixtures / "tokenizers/t5/tokenizer.json");
  for (int32_t id : plain.encode("").ids) CHECK(plain.special_ids().contains(id));
}

TEST_CASE("an added token has an id by its text", "[masked]") {
  nlohmann::json json = JsonObject::load(fixtures / "tokenizers/bert/tokenizer.json").value();
  const int32_t next = static_cast<int32_t>(json["model"]["vocab"].size());
  json["added_tokens"].push_back({{"id", next}, {"content", "<mask>"}, {"special", true}});
  const Tokenizer tokenizer(JsonObject::parse(json.dump(), "t.json"));
  CHECK(tokenizer.id_of("<mask>") == next);
  CHECK(tokenizer.id_of("[MASK]") == 4);
  CHECK_FALSE(tokenizer.id_of("<none>"));
}

TEST_CASE("masks are filled with what the recorded logits say, whatever the batch", "[masked]") {
  const std::string folder = GENERATE("bert_mlm", "roberta_mlm", "distilbert_mlm", "mpnet_mlm", "electra_mlm",
                                      "nomic_mlm", "deberta_mlm", "modernbert_mlm");
  const Model model = load_model(fixtures / folder);
  auto backend = make_reference_backend();
  const auto store = make_model_store(*backend, model);
  load_parameters(*store, model.parameters, fixtures / folder);

  const SafetensorsFile file(fixtures / folder / "expected.safetensors");
  const auto integers = [&](const char* name) {
    std::vector<int32_t> values(static_cast<size_t>(file.require("input_ids").elements()), 0);
    if (file.find(name)) file.read_ints(file.require(name), values);
    return values;
  };
  const auto ids = integers("input_ids"), seen = integers("attention_mask"), types = integers("token_type_ids");
  std::vector<float> logits(static_cast<size_t>(file.require("logits").elements()));
  file.read_floats(file.require("logits"), logits);
  const auto width = static_cast<size_t>(file.require("input_ids").shape[1]);
  const auto vocabulary = static_cast<size_t>(model.vocabulary);
  TokenTexts texts;
  std::vector<std::vector<size_t>> expected;  // places of masks, by text
  constexpr int32_t mask = 4;
  for (size_t row = 0; row < ids.size() / width; ++row) {
    texts.ids.emplace_back();
    texts.segments.emplace_back();
    expected.emplace_back();
    for (size_t i = row * width; i < (row + 1) * width && seen[i] == 1; ++i) {
      texts.ids.back().push_back(ids[i]);
      texts.segments.back().push_back(types[i]);
      if (ids[i] == mask) expected.back().push_back(i);
    }
  }
  MaskedWords words(*backend, model, store, backend->make_workspace());
  const TextInputs inputs = text_inputs(model, texts.largest_segment());
  const int64_t positions = GENERATE(1, 1000);  // one text a batch, or all in one
  size_t given = 0;
  fill_by_length(words, texts, inputs, positions, mask, 3, [&](size_t text, const MaskCandidates& candidates) {
    ++given;
    REQUIRE(candidates.size() == expected[text].size());
    for (size_t place = 0; place < candidates.size(); ++place) {
      const auto row = std::span(logits).subspan(expected[text][place] * vocabulary, vocabulary);
      REQUIRE(candidates[place].size() == 3);
      CHECK(candidates[place][0].id == std::ranges::max_element(row) - row.begin());
      double sum = 0;
      for (float logit : row) sum += std::exp(static_cast<double>(logit));
      for (const WordCandidate& word : candidates[place])
        CHECK(word.probability == Catch::Approx(std::exp(row[static_cast<size_t>(word.id)]) / sum).epsilon(1e-4));
      CHECK(candidates[place][1].probability >= candidates[place][2].probability);
    }
  });
  CHECK(given == texts.ids.size());
  for_batches_by_length(texts, inputs, positions, [&](const DataBatch& batch, std::span<const uint32_t>) {
    std::vector<int32_t> places, largest;
    const std::vector<int32_t>& all = batch.values("ids");
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i] == mask) places.push_back(static_cast<int32_t>(i));
    const std::vector<float> rows = words.logits(batch, places);
    for (size_t i = 0; i < places.size(); ++i)
      largest.push_back(likeliest_words(std::span(rows).subspan(i * vocabulary, vocabulary), 1)[0].id);
    CHECK(words.likeliest(batch, places) == largest);
  });
}

TEST_CASE("models that predict no masked words are refused", "[masked]") {
  const std::string folder = GENERATE("bert_cls", "bert_tokens", "gpt2", "t5", "xlnet");
  const Model model = load_model(fixtures / folder);
  auto backend = make_reference_backend();
  CHECK_THAT(error_of([&] { MaskedWords(*backend, model, nullptr, nullptr); }),
             ContainsSubstring("predicts no masked words"));
}

TEST_CASE("the likeliest words come first, and equal ones by their ids", "[masked]") {
  const std::vector<float> logits = {0, 2, 1, 2};
  const auto best = likeliest_words(logits, 3);
  REQUIRE(best.size() == 3);
  CHECK(best[0].id == 1);
  CHECK(best[1].id == 3);
  CHECK(best[2].id == 2);
  CHECK(best[2].probability == Catch::Approx(std::exp(1.0) / (1 + std::exp(1.0) + 2 * std::exp(2.0))));
  CHECK(likeliest_words(logits, 9).size() == 4);
}

TEST_CASE("what is known of single tokens and of repeated texts", "[masked]") {
  const UnigramBaseline baseline = unigram_baseline(std::vector<int64_t>{1, 0, 2, 1});
  CHECK(baseline.entropy == Catch::Approx(1.5 * std::log(2.0)));
  CHECK(baseline.accuracy == 0.5);
  CHECK(texts_of_lengths({3, 5, 3, 0, 3, 5}).repeated() == 3);
}
