// Texts of unlike lengths in rows of one length.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "models/chat/learned_turns.h"
#include "models/data/packed_texts.h"
#include "models/data/prompt_rows.h"
#include "models/training/trainer.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Texts of 3 to 9 ids, of which those behind the second are learned.
std::vector<LearnedText> texts_below(int64_t vocabulary, int64_t count) {
  std::vector<LearnedText> texts;
  for (int64_t i = 0; i < count; ++i) {
    LearnedText text{.ids = some_ids(3 + i * 5 % 7, vocabulary, 3 + 2 * i), .learned = {}};
    text.learned.resize(text.ids.size(), 1);
    text.learned[1] = 0;
    texts.push_back(std::move(text));
  }
  return texts;
}

/// The mean loss of all batches.
double loss_of(Backend& backend, const Model& model, const std::filesystem::path& weights, const TrainingData& data) {
  Trainer trainer(backend, plan_training(model, {}, data.shapes(), backend));
  load_parameters(trainer.store(), model.parameters, weights);
  MeanLoss loss;
  for (int64_t i = 0; i < data.epoch(); ++i) loss.add(trainer.evaluate(data.training_batch(i).view()));
  return loss.value();
}

}  // namespace

TEST_CASE("the fullest row with room takes the longest text that is left", "[packed]") {
  const std::vector<int64_t> lengths{3, 7, 2, 5, 8, 1};
  const std::vector<uint32_t> order{5, 4, 3, 2, 1, 0};
  CHECK(pack(lengths, order, 8) == std::vector<std::vector<uint32_t>>{{4}, {1, 5}, {3, 0}, {2}});
  CHECK(pack(lengths, std::vector<uint32_t>{}, 8).empty());
}

TEST_CASE("each epoch has every text once, in another order, the same for a number", "[packed]") {
  const std::vector<LearnedText> texts = texts_below(50, 40);
  const PackedTexts data(texts, {}, {.rows = 3, .positions = 12, .seed = 4});
  const auto ids_of = [&](int64_t epoch) {
    std::vector<int32_t> all;
    for (int64_t i = 0; i < data.epoch(); ++i) {
      const DataBatch batch = data.training_batch(epoch * data.epoch() + i);
      const auto& ids = batch.values("ids");
      all.insert(all.end(), ids.begin(), ids.end());
    }
    return all;
  };
  int64_t positions = 0, tokens = 0, learned = 0, targets = 0;
  for (const LearnedText& text : texts) {
    positions += std::ssize(text.ids) - 1;
    learned += std::count(text.learned.begin() + 1, text.learned.end(), 1);
  }
  for (int64_t i = 0; i < data.epoch(); ++i) {
    const DataBatch batch = data.training_batch(i);
    tokens += batch.tokens;
    targets += std::ranges::count_if(batch.values("targets"), [](int32_t t) { return t != ignored_target; });
  }
  CHECK(tokens == positions);
  CHECK(targets == learned);
  const auto first = ids_of(0), second = ids_of(1);
  CHECK(first != second);
  CHECK(first == ids_of(0));
  CHECK(std::accumulate(first.begin(), first.end(), int64_t{0}) ==
        std::accumulate(second.begin(), second.end(), int64_t{0}));
  CHECK_THAT(error_of([&] { PackedTexts(texts, {}, {.rows = 1, .positions = 7}); }),
             ContainsSubstring("a text of 9 ids does not fit into a row of 7 positions"));
}

TEST_CASE("the loss of a token does not depend on what shares its row or batch", "[packed][device][one_driver]") {
  const auto backend = make_backend("");
  for (const char* name : {"llama", "gpt2", "gpt_neox", "qwen2", "opt_after", "gptj", "gemma4_small", "qwen3_5", "lfm2",
                           "granite4_mamba", "nemotron_h_moe"}) {
    INFO(name);
    const Model model = load_model(fixtures / name);
    const std::vector<LearnedText> texts = texts_below(model.vocabulary, 16);
    const auto loss = [&](int64_t rows, int64_t positions) {
      return loss_of(*backend, model, fixtures / name, PackedTexts(texts, {}, {.rows = rows, .positions = positions}));
    };
    const double packed = loss(1, 24);
    CHECK(std::abs(loss(4, 8) / packed - 1) < 1e-6);
    CHECK(std::abs(loss(8, 23) / packed - 1) < 1e-6);
    // Each alone, without mask and positions.
    Trainer trainer(*backend, model, {}, {.rows = 1, .positions = 2});
    load_parameters(trainer.store(), model.parameters, fixtures / name);
    MeanLoss alone;
    for (const LearnedText& text : texts) {
      std::vector<int32_t> ids(text.ids.begin(), text.ids.end() - 1), targets;
      for (size_t i = 1; i < text.ids.size(); ++i) targets.push_back(text.learned[i] ? text.ids[i] : ignored_target);
      const BatchShape shape{.rows = 1, .positions = std::ssize(ids)};
      alone.add(trainer.evaluate({shape, {{"ids", ids}, {"targets", targets}}}));
    }
    CHECK(std::abs(alone.value() / packed - 1) < 1e-6);
  }
}

TEST_CASE("rows of prompts are read, and what is wrong with one is named", "[packed]") {
  const PromptRows rows = read_prompt_rows(
      "{\"prompt\": \"a \", \"completion\": \"b\", \"id\": 7}\n\n{\"text\": \"c\"}\n"
      "{\"messages\": [{\"role\": \"user\", \"content\": \"d\"}]}\n",
      "x.jsonl");
  REQUIRE(rows.rows.size() == 3);
  REQUIRE(rows.rows[0].stretches.size() == 2);
  CHECK(rows.rows[0].stretches[0].text == "a ");
  CHECK_FALSE(rows.rows[0].stretches[0].learned);
  CHECK(rows.rows[0].stretches[1].learned);
  CHECK(rows.rows[1].stretches[0].learned);
  CHECK(rows.rows[1].line == 3);
  CHECK(rows.rows[2].messages.size() == 1);
  const auto message = [](const std::string& content, const char* name = "x.jsonl") {
    return error_of([&] { read_prompt_rows(content, name); });
  };
  CHECK_THAT(message("{\"prompt\": \"a\"}\n"), ContainsSubstring("x.jsonl:1") && ContainsSubstring("completion"));
  CHECK_THAT(message("{\"text\": \"a\"}\n{\"b\": 1}\n"), ContainsSubstring("x.jsonl:2"));
  CHECK_THAT(message("{\"messages\": []}\n"), ContainsSubstring("no messages"));
  CHECK_THAT(message("{\"messages\": [{\"content\": \"x\"}]}\n"), ContainsSubstring("role"));
  CHECK_THAT(message("a\n", "x.csv"), ContainsSubstring(".jsonl"));
}

TEST_CASE("of a conversation what the assistant says is learned", "[packed]") {
  const auto learned = [](const char* source, const nlohmann::ordered_json& messages) {
    std::string text;
    for (const TextStretch& stretch : learned_turns({source, "t"}, {.messages = messages}))
      text += stretch.learned ? '<' + stretch.text + '>' : stretch.text;
    return text;
  };
  const nlohmann::ordered_json talk = {{{"role", "user"}, {"content", "a"}},
                                       {{"role", "assistant"}, {"content", "b"}},
                                       {{"role", "user"}, {"content", "c"}},
                                       {{"role", "assistant"}, {"content", "d"}}};
  const char* const plain =
      "{% for m in messages %}{{ m.role[0] + ':' + m.content + ';' }}{% endfor %}{% if add_generation_prompt %}{{ 'a:' "
      "}}"
      "{% endif %}";
  CHECK(learned(plain, talk) == "u:a;a:<b;>u:c;a:<d;>");
  CHECK(learned(plain, nlohmann::ordered_json::array({talk[1]})) == "<a:b;>");  // nothing comes before it
  // Marks go before what turns show.
  CHECK(
      learned("{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}!"
              "{% else %}{{ m.content }}?{% endif %}{% endfor %}",
              talk) == "a?<b>!c?<d>!");
  // Earlier answers are shown otherwise than when they were given.
  CHECK(learned(
            "{% for m in messages %}{{ m.role[0] + ':' + (m.content if loop.last or m.role == 'user' else '-') + ';' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ 'a:' }}{% endif %}",
            talk) == "u:a;a:-;u:c;a:<d;>");
  CHECK_THAT(error_of([&] { learned(plain, nlohmann::ordered_json::array({talk[0]})); }),
             ContainsSubstring("nothing is learned"));
  CHECK_THAT(error_of([&] { learned("{{ raise_exception('roles!') }}", talk); }), ContainsSubstring("roles!"));
}
