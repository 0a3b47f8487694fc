// Runs that begin before the host knows the one before: what comes of them is what comes of runs one after the other.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/generation/beam_search.h"
#include "models/generation/session_group.h"
#include "shaders/elementwise/elementwise.h"
#include "tests/file_helpers.h"
#include "tests/generator_helpers.h"
#include "tests/program_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Ids = std::vector<int32_t>;

/// y = 2 x; and, for memory of its own, z = 3 (x + x).
Graph doubling(int64_t count) {
  Graph graph;
  const Value x = graph.input("x", {count});
  graph.mark_output(scale(graph, x, 2), "y");
  graph.mark_output(scale(graph, add(graph, x, x), 3), "z");
  return graph;
}

void check_turns(Backend& backend) {
  const auto store = backend.make_store({});
  const auto workspace = backend.make_workspace();
  const auto a = backend.compile(doubling(4), store, {}, workspace),
             b = backend.compile(doubling(3), store, {}, workspace);
  CHECK_THAT(error_of([&] { a->take_input("x", *b, "y"); }), ContainsSubstring("can't be taken"));
  b->take_input("x", *a, "y");
  const auto first = [](const Program& program) { return program.read("y").at(0); };
  a->write("x", std::vector<float>{1, 2, 3, 4});
  for (int round = 0; round < 3; ++round) {
    a->start();
    b->start();
    a->finish();
    CHECK(first(*a) == 2);
    CHECK(b->read("y") == std::vector<float>{4, 8, 12});  // which waits
    b->finish();
  }
  b->write("x", std::vector<float>{7, 8, 9});
  b->run();
  CHECK(b->read("y") == std::vector<float>{14, 16, 18});
  CHECK(b->read("z") == std::vector<float>{42, 48, 54});
  // Memory moves, inputs change and programs end while others are under way.
  a->start();
  b->start();
  const auto large = backend.compile(doubling(5000), store, {}, workspace);
  CHECK(b->read("y") == std::vector<float>{4, 8, 12});
  a->start();
  a->write("x", std::vector<float>{5, 6, 7, 8});
  CHECK(first(*a) == 2);
  a->start();
  b->start();
  CHECK(b->read("z") == std::vector<float>{60, 72, 84});
  const auto c = backend.compile(doubling(3), store, {}, workspace);
  c->write("x", std::vector<float>{1, 1, 1});
  c->start();
}

struct Text {
  Ids ids;
  std::vector<float> logits;  ///< of all steps

  bool operator==(const Text&) const = default;
};

/// `told`: the device knows how tokens are drawn.
Text written(Generator& generator, const GenerationConfig& config, const Ids& prompt, int64_t vocabulary,
             bool told = true) {
  const auto search = make_search(config, {prompt}, vocabulary);
  ExpectedText expected = search->expected();
  if (!told) expected.draws.reset();
  generator.expect(expected);
  GenerationSession session(generator);
  Text text;
  std::vector<float> logits = session.begin(prompt);
  while (true) {
    text.logits.insert(text.logits.end(), logits.begin(), logits.end());
    search->advance(logits, generator.choices());
    text.ids.assign(search->ids(0).begin(), search->ids(0).end());
    if (search->done()) return text;
    logits = session.append(text.ids.back());
  }
}

constexpr const char* on_gpu = "olmo2";  // as in speculation_test.cpp
constexpr int64_t capacity = 21;
const Ids prompt{5, 17, 3, 9};

}  // namespace

TEST_CASE("a program takes from another, which is under way, what it left", "[run_ahead][device][one_driver]") {
  check_turns(*make_reference_backend());
  check_turns(*make_backend(""));
}

TEST_CASE("what the device begins by itself changes nothing of a text", "[run_ahead][device][one_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  LoadedGenerator loaded(*backend, on_gpu, {.capacity = capacity, .choices = 6});
  Generator& generator = loaded.generator;
  const auto text = [&](const GenerationConfig& config, bool ahead, bool told = true) {
    generator.run_ahead(ahead);
    return written(generator, config, prompt, loaded.model.vocabulary, told);
  };
  const GenerationConfig greedy{.max_new_tokens = 18};
  const Text plain = text(greedy, false);
  CHECK(generator.ahead().begun == 0);
  CHECK(text(greedy, true) == plain);
  // All but the first of 17 and those that tell how programs are cut, and none where there is no position.
  CHECK(generator.ahead().used == 16 - DecodePair::alone);
  CHECK(generator.ahead().begun == 16 - DecodePair::alone);
  CHECK_THROWS_WITH((generator.decode(1), generator.decode(1)), ContainsSubstring("don't fit"));

  // Draws that fall as the device expects.
  GenerationConfig drawn = greedy;
  drawn.do_sample = true;
  drawn.top_k = 6;
  for (const bool last : {false, true}) {
    drawn.temperature = 0.8;
    drawn.top_p = 0.95;
    drawn.min_p = 0.05;
    drawn.temperature_last = last;
    drawn.seed = 3;
    const Text other = text(drawn, false);
    CHECK(other.ids != plain.ids);
    const AheadCounts before = generator.ahead();
    CHECK(text(drawn, true) == other);
    CHECK(generator.ahead().used - before.used == 16);
  }

  // Texts that go elsewhere: rules forbid what the device chose, or it knows of no draws.
  GenerationConfig banned = greedy;
  for (const size_t i : {6U, 9U, 13U}) banned.bad_words_ids.push_back({plain.ids[i]});
  for (const GenerationConfig& config : {banned, drawn}) {
    const Text other = text(config, false);
    CHECK(other.ids != plain.ids);
    // So many right guesses in a row that it begins again.
    for (int i = 0; i < 3; ++i) CHECK(text(greedy, true) == plain);
    const AheadCounts before = generator.ahead();
    CHECK(text(config, true, false) == other);
    const AheadCounts after = generator.ahead();
    CHECK(after.begun - before.begun == after.used - before.used + 1);  // once in vain, then no more
    CHECK(text(greedy, true) == plain);
  }
}

TEST_CASE("what was begun is forgotten where others write to the cache", "[run_ahead][device][one_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  const auto logits = [&](bool ahead) {
    LoadedGenerator loaded(*backend, on_gpu, {.capacity = capacity, .choices = 1});
    loaded.generator.run_ahead(ahead);
    GenerationSession session(loaded.generator);
    std::vector<float> all = session.begin(prompt);
    const auto append = [&](int times) {
      for (int i = 0; i < times; ++i) {
        const std::vector<float> more = session.append(loaded.generator.choices().front());
        all.insert(all.end(), more.begin(), more.end());
      }
    };
    append(8);
    // Its token's place is taken by another one, and then by the same as before.
    const int32_t next = loaded.generator.choices().front();
    const size_t before = session.ids().size();
    session.extend(Ids(5, (next + 1) % 8));
    session.keep(before);
    all.push_back(session.append(next).front());
    append(4);
    CHECK(loaded.generator.ahead().used == (ahead ? 7 : 0));
    return all;
  };
  CHECK(logits(true) == logits(false));
}

TEST_CASE("what a session began is forgotten where others go on together", "[run_ahead][device][one_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  const char* name = "mistral";
  const Model model = model_of(fixture_config(name));
  const auto weights = make_model_store(*backend, model);
  load_parameters(*weights, model.parameters, fixtures / name);
  const auto logits = [&](bool ahead) {
    SessionGroup group(*backend, model, weights, {.rows = 3, .capacity = 24, .choices = 1});
    for (size_t i = 0; i < group.size(); ++i) {
      group.generator(i).run_ahead(ahead);
      group.session(i).begin(Ids{static_cast<int32_t>(5 + i)});
    }
    std::vector<float> all;
    const auto append = [&](int times) {
      for (int i = 0; i < times; ++i)
        all.push_back(group.session(0).append(group.generator(0).choices().front()).front());
    };
    append(8);
    const std::vector<SessionGroup::Next> others{{1, 9}, {2, 3}};
    group.append(others, false);  // which writes a key of the first one, too
    append(4);
    CHECK(group.generator(0).ahead().used == (ahead ? 6 : 0));
    return all;
  };
  CHECK(logits(true) == logits(false));
}
