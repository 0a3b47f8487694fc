// Texts of which several tokens come out of one run: as they are without guesses, whatever is guessed.

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/generation/beam_search.h"
#include "models/generation/speculation.h"
#include "tests/generator_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Ids = std::vector<int32_t>;

/// Knows what will be written, but errs at every place that `errs` divides; 0: never.
class Oracle final : public Drafter {
 public:
  Oracle(Ids whole, size_t errs) : whole_(std::move(whole)), errs_(errs) {}
  Ids draft(std::span<const int32_t> text, size_t most) override {
    Ids guesses;
    for (size_t i = text.size(); i < whole_.size() && guesses.size() < most; ++i)
      guesses.push_back(errs_ > 0 && i % errs_ == 0 ? (whole_[i] + 1) % 8 : whole_[i]);
    return guesses;
  }

 private:
  Ids whole_;
  size_t errs_;
};

struct Written {
  Ids ids;
  int64_t runs = 0, guessed = 0, held = 0;
};

/// What the model writes behind the prompt; `drafter`: nullptr for a token a run.
Written written(Generator& generator, const GenerationConfig& config, const Ids& prompt, Drafter* drafter,
                int64_t vocabulary) {
  const auto search = make_search(config, {prompt}, vocabulary);
  GenerationSession session(generator);
  const std::vector<float> logits = session.begin(prompt);
  search->advance(logits, generator.choices());
  Written text;
  Speculation speculation(generator, session, drafter, 5);
  const auto choose = [&](auto scores, auto choices) -> std::optional<int32_t> {
    search->advance(scores, choices);
    return search->done() ? std::nullopt : std::optional(search->ids(0).back());
  };
  for (; !search->done(); ++text.runs) speculation.step(search->ids(0), choose);
  text.ids.assign(search->ids(0).begin(), search->ids(0).end());
  text.guessed = speculation.guessed();
  text.held = speculation.held();
  return text;
}

GenerationConfig config_of(bool draws) { return {.max_new_tokens = 18, .do_sample = draws, .top_k = 6, .seed = 3}; }

const Ids prompt{5, 17, 3, 9};
// As many as the text needs, whose last token is not run: runs end where they have no room for their padding.
constexpr int64_t capacity = 21;

void check_guesses(Backend& backend, const char* name, const GeneratorShape& shape, const GenerationConfig& config) {
  INFO(name);
  LoadedGenerator loaded(backend, name, shape);
  const auto text = [&](Drafter* drafter) {
    return written(loaded.generator, config, prompt, drafter, loaded.model.vocabulary);
  };
  const Written plain = text(nullptr);
  Oracle right(plain.ids, 0), wrong(plain.ids, 1), both(plain.ids, 3);
  LookupDrafter lookup;
  CHECK(text(&lookup).ids == plain.ids);
  const Written all = text(&right), none = text(&wrong), some = text(&both);
  CHECK(all.ids == plain.ids);
  CHECK(all.held == all.guessed);
  CHECK(all.runs <= plain.runs / 3);  // the last token and five guesses, fewer where the room ends
  CHECK(none.ids == plain.ids);
  CHECK(none.held == 0);
  CHECK(none.runs == plain.runs);
  CHECK(some.ids == plain.ids);
  CHECK((some.runs > all.runs && some.runs < plain.runs));
}

/// Norms behind the parts of layers: CPUs' drivers take minutes to compile products of eight rows that take norms in.
constexpr const char* on_gpu = "olmo2";

/// That fixture, sure of what it writes.
std::shared_ptr<Store> sure_weights(Backend& backend, const Model& model) {
  auto weights = make_model_store(backend, model);
  load_parameters(*weights, model.parameters, fixtures / on_gpu);
  const char* gain = "model.norm.weight";
  std::vector<float> gains = weights->read(gain);
  for (float& value : gains) value *= 40;
  weights->write(gain, gains);
  return weights;
}

void check_model_guesses(Backend& backend) {
  const Model model = model_of(fixture_config(on_gpu));
  const auto weights = sure_weights(backend, model);
  Generator generator(backend, model, weights, {.capacity = capacity, .choices = 1, .usable = model.vocabulary});
  ModelDrafter drafter(backend, model, weights, ModelDrafter::shape(capacity, model.vocabulary, {}));
  const auto text = [&](Drafter* guesses) {
    return written(generator, config_of(false), prompt, guesses, model.vocabulary);
  };
  const Written plain = text(nullptr), guessed = text(&drafter);
  CHECK(guessed.ids == plain.ids);
  CHECK(guessed.guessed > 6);
  CHECK(guessed.held == guessed.guessed);  // its own
  Oracle wrong(plain.ids, 1);
  CHECK(text(&wrong).ids == plain.ids);
  CHECK(drafter.draft(Ids{5, static_cast<int32_t>(model.vocabulary)}, 3).empty());  // a token of the larger model alone
}

}  // namespace

TEST_CASE("guesses change nothing of a text", "[speculation]") {
  const auto backend = make_reference_backend();
  const GenerationConfig config = config_of(GENERATE(false, true));
  // Learned and rotary positions, windows, latent rows, layers that see the keys of others.
  for (const char* name : {"gpt2", "llama", "mistral", "deepseek_v3", "gemma4_small"})
    check_guesses(*backend, name, {.capacity = capacity}, config);
}

TEST_CASE("a model guesses for another as long as it is sure", "[speculation]") {
  check_model_guesses(*make_reference_backend());
}

TEST_CASE("guesses are checked on a GPU as on the host", "[speculation][device][one_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  check_guesses(*backend, on_gpu, {.capacity = capacity, .choices = 6}, config_of(true));
  check_model_guesses(*backend);
}

TEST_CASE("a model with states can neither check guesses nor make them", "[speculation]") {
  const auto backend = make_reference_backend();
  LoadedGenerator loaded(*backend, "qwen3_5", {});
  GenerationSession session(loaded.generator);
  LookupDrafter lookup;
  CHECK_THROWS_WITH(Speculation(loaded.generator, session, &lookup, 5), ContainsSubstring("keeps states"));
  CHECK_THROWS_WITH(ModelDrafter(*backend, loaded.model, make_model_store(*backend, loaded.model),
                                 ModelDrafter::shape(8, loaded.model.vocabulary, {})),
                    ContainsSubstring("can't draft"));
}

TEST_CASE("a text is looked up where its last tokens were before", "[speculation]") {
  LookupDrafter lookup;
  const auto guess = [&](const Ids& text, size_t most) { return lookup.draft(text, most); };
  CHECK(guess({1, 2, 3, 4, 1, 2}, 2) == Ids{3, 4});
  CHECK(guess({1, 2, 3, 4, 1, 2}, 6) == Ids{3, 4, 1, 2, 3, 4});  // and so on
  CHECK(guess({1, 2, 3, 1, 2, 4, 1, 2}, 1) == Ids{4});           // the last place
  CHECK(guess({9, 1, 2, 3, 7, 1, 2, 4, 9, 1, 2}, 1) == Ids{3});  // but for one that has more in common
  CHECK(guess({7, 7, 7}, 3) == Ids{7, 7, 7});
  CHECK(guess({1, 2, 3, 2}, 3).empty());  // one token is no match
  CHECK(guess({1}, 3).empty());
}
