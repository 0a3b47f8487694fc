// Generating for a batch: unlike lengths, lengths that have no positions, what is refused before there is a device.

#include "models/data/token_texts.h"
#include "models/families/registry.h"
#include "models/generation/search_by_length.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "models/weights.h"
#include "shaders/top_k/top_k.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Ids = std::vector<int32_t>;

Model fixture_model(const std::string& name) { return make_model(JsonObject::load(fixtures / name / "config.json")); }

std::vector<std::vector<Hypothesis>> generated(Backend& backend, const std::string& name,
                                               const GenerationConfig& config, const std::vector<Ids>& given) {
  const Model model = fixture_model(name);
  PreparedSearch prepared = prepare_search(model, config, given);
  Generator generator(backend, model, prepared.shape);
  load_parameters(generator.store(), model.parameters, fixtures / name);
  run_search(generator, prepared);
  return prepared.search->results();
}

/// The same by length, in batches of a few positions.
std::vector<std::vector<Hypothesis>> generated_by_length(Backend& backend, const std::string& name,
                                                         const GenerationConfig& config,
                                                         const std::vector<Ids>& given) {
  const Model model = fixture_model(name);
  std::vector<std::vector<Hypothesis>> results(given.size());
  const auto weights = make_model_store(backend, model);
  load_parameters(*weights, model.parameters, fixtures / name);
  SearchByLength{.config = config, .positions = 24, .most_lengths = 2}.run(
      backend, model, weights, given, [&](size_t source, auto best) { results.at(source) = std::move(best); });
  return results;
}

/// Each row of a batch is what it would be alone.
void check_batch(Backend& backend, const std::string& name, const std::vector<Ids>& given,
                 decltype(&generated) generate = generated) {
  GenerationConfig config = load_generation_config(fixtures / name);
  config.max_new_tokens = 7;
  for (const int64_t beams : {1, 3}) {
    INFO(name << ", " << beams << " beams");
    config.num_beams = config.num_return_sequences = beams;
    const auto batch = generate(backend, name, config, given);
    for (size_t source = 0; source < given.size(); ++source) {
      const auto alone = generated(backend, name, config, {given[source]})[0];
      REQUIRE(batch[source].size() == alone.size());
      for (size_t i = 0; i < alone.size(); ++i) {
        CHECK(batch[source][i].ids == alone[i].ids);
        CHECK(std::abs(batch[source][i].score - alone[i].score) < 1e-4);
      }
    }
  }
}

const std::vector<Ids> unlike{{5, 17, 3}, {9, 4, 7, 8, 20, 11, 30, 31, 32}, {40}};

}  // namespace

TEST_CASE("a batch of prompts of unlike lengths gives what each gives alone", "[generation][long]") {
  const auto backend = make_reference_backend();
  for (const char* name :
       {"gpt2", "gpt_neox", "opt_after", "gpt_neo", "gptj", "llama", "mistral", "qwen3_5", "lfm2", "deepseek_v3"})
    check_batch(*backend, name, unlike);
}

TEST_CASE("a batch of sources of unlike lengths gives what each gives alone", "[generation][long]") {
  const auto backend = make_reference_backend();
  for (const char* name : {"bart", "marian", "t5", "vaswani"}) check_batch(*backend, name, unlike);
}

TEST_CASE("sources by length give what each gives alone", "[generation][long]") {
  const auto backend = make_reference_backend();
  std::vector<Ids> given = unlike;
  given.insert(given.end(), {{2, 3}, {7, 7, 7, 8}, {3, 12, 5, 6, 21}, {30}});
  for (const char* name : {"marian", "t5"}) check_batch(*backend, name, given, generated_by_length);
}

TEST_CASE("pieces of many sources are written as all at once, by what is recorded once", "[generation]") {
  const auto backend = make_reference_backend();
  const Model model = fixture_model("marian");
  const auto weights = make_model_store(*backend, model);
  load_parameters(*weights, model.parameters, fixtures / "marian");
  std::vector<Ids> given = unlike;
  given.insert(given.end(), {{2, 3}, {7, 7, 7, 8}, {3, 12, 5, 6, 21}, {30}});
  GenerationConfig config = load_generation_config(fixtures / "marian");
  config.max_new_tokens = 5;
  config.do_sample = GENERATE(false, true);  // draws follow the source's number among all
  config.num_beams = config.num_return_sequences = 1;
  std::vector<Ids> together(given.size()), apart;
  int64_t ran = 0;
  const SearchByLength search{.config = config, .positions = 24, .ran = [&](const auto&...) { ++ran; }};
  search.run(*backend, model, weights, given,
             [&](size_t source, auto best) { together.at(source) = best.front().ids; });
  const int64_t recorded = std::exchange(ran, 0);
  const LengthBatches shapes = shapes_by_length(TokenTexts{.ids = given}.lengths(), 24);
  SearchByLength::Kept kept{.shapes = &shapes, .workspace = backend->make_workspace()};
  for (size_t begin = 0; begin < given.size(); begin += 3) {
    const std::span piece = std::span(given).subspan(begin, std::min<size_t>(3, given.size() - begin));
    apart.resize(begin + piece.size());
    search.run(
        *backend, model, weights, {piece.begin(), piece.end()},
        [&](size_t source, auto best) { apart.at(begin + source) = best.front().ids; }, kept);
  }
  CHECK(ran == 0);
  search.leave(kept);
  CHECK(ran == recorded);
  CHECK(apart == together);
}

TEST_CASE("a batch on the device gives what each gives alone", "[generation][device][one_driver]") {
  const auto backend = make_backend("");
  for (const char* name : {"gpt2", "t5"}) check_batch(*backend, name, unlike);
}

TEST_CASE("tokens are chosen on a GPU as on the host", "[generation][device][one_driver]") {
  const auto backend = make_backend("", {.as_gpu = true});
  const Model model = fixture_model("gpt2");
  GenerationConfig config{.max_new_tokens = 7}, padded = config;
  for (auto id = static_cast<int32_t>(model.vocabulary / 4); id < model.vocabulary; ++id)
    padded.suppress_tokens.push_back(id);
  GenerationConfig drawn = config;
  drawn.do_sample = true;
  drawn.top_k = 5;
  GenerationConfig beams = padded;
  beams.num_beams = 2;
  beams.bad_words_ids = {{3}};
  for (const GenerationConfig& each : {config, padded, drawn, beams}) {
    enum Where { on_host, on_device, told_otherwise };  // the last: by what chooses on the device
    std::vector<std::vector<Hypothesis>> found(3);
    for (const Where where : {on_host, on_device, told_otherwise}) {
      PreparedSearch prepared = prepare_search(model, each, unlike);
      if (where == on_host) prepared.shape.choices = 0;
      Generator generator(*backend, model, prepared.shape);
      CHECK(generator.shape().choices == (where == on_host ? 0 : prepared.search->choices()));
      generator.give_all_logits(where == told_otherwise && each.num_beams == 1);  // beams know log-probabilities
      load_parameters(generator.store(), model.parameters, fixtures / "gpt2");
      run_search(generator, prepared);
      for (const auto& hypotheses : prepared.search->results()) found[where].push_back(hypotheses[0]);
      CHECK(generator.choices().empty() == (where == on_host || (where == told_otherwise && each.num_beams == 1)));
    }
    for (const Where where : {on_device, told_otherwise})
      for (size_t i = 0; i < found[0].size(); ++i) {
        CHECK(found[0][i].ids == found[where][i].ids);
        CHECK(std::abs(found[0][i].score - found[where][i].score) < 1e-5);
      }
  }
}

TEST_CASE("prompts in several runs give what they give in one", "[generation][device][one_driver]") {
  const auto backend = make_backend("");
  const std::vector<Ids> given{{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3, 2, 3, 8},
                               {2, 7, 1, 8, 2, 8, 1, 8, 2, 8, 4}};
  for (const std::string name : {"gpt2", "llama_yarn", "mistral", "gpt_neox", "gemma3", "gemma4_small", "phi3_long",
                                 "qwen3_moe", "opt_after", "gpt_neo", "phi", "gptj", "qwen3_5", "granite4_mamba",
                                 "glm4_moe_lite", "nemotron_h_moe", "falcon_new", "falcon_h1"}) {
    INFO(name);
    const Model model = fixture_model(name);
    std::vector<std::vector<float>> found;
    for (const int64_t run_positions : {2048, 16}) {
      PreparedSearch prepared = prepare_search(model, {.max_new_tokens = 3}, given);
      prepared.shape.run_positions = run_positions;
      Generator generator(*backend, model, prepared.shape);
      generator.prepare(prepared.prompt);
      const uint64_t bytes = backend->allocated_bytes();
      load_parameters(generator.store(), model.parameters, fixtures / name);
      std::vector<float>& logits = found.emplace_back();
      run_search(generator, prepared,
                 [&](std::span<const float> row) { logits.insert(logits.end(), row.begin(), row.end()); });
      CHECK(backend->allocated_bytes() == bytes);  // no program was left to be made
    }
    REQUIRE(found[0].size() == found[1].size());
    for (size_t i = 0; i < found[0].size(); ++i) REQUIRE(std::abs(found[0][i] - found[1][i]) < 1e-4f);
  }
}

TEST_CASE("what a prompt needs can be compiled before there are weights", "[generation]") {
  const auto backend = make_reference_backend();
  for (const std::string name : {"gpt2", "t5"}) {
    INFO(name);
    const Model model = fixture_model(name);
    for (const int64_t tokens : {1, 4}) {
      GenerationConfig config = load_generation_config(fixtures / name);
      config.num_beams = config.num_return_sequences = 1;
      config.max_new_tokens = tokens;
      PreparedSearch prepared = prepare_search(model, config, {unlike[1]});
      CHECK(prepared.prompt == (model.has_encoder() ? 1 : 9));
      Generator generator(*backend, model, prepared.shape);
      generator.prepare(prepared.prompt);
      const Program *encoder = generator.encoder_program(), *decode = generator.decode_program();
      CHECK((encoder != nullptr) == model.has_encoder());
      CHECK((decode != nullptr) == (model.has_encoder() || tokens > 1));  // a prompt of one token is decoded, too
      load_parameters(generator.store(), model.parameters, fixtures / name);
      run_search(generator, prepared);
      CHECK(generator.encoder_program() == encoder);
      CHECK(generator.decode_program() == decode);
    }
  }
}

TEST_CASE("what is no number goes before the likeliest token, so that it is seen", "[generation][device]") {
  for (const auto& backend : {make_backend(""), make_reference_backend()}) {
    Graph graph;
    const TopK choices = top_k(graph, graph.input("x", {1, 5}), 3);
    graph.mark_output(choices.values, "values");
    graph.mark_output(choices.indices, "indices");
    const auto program = backend->compile(graph, nullptr);
    program->write("x", std::vector<float>{-0.0f, 0.0f, -INFINITY, -std::nanf(""), INFINITY});
    program->run();
    CHECK(program->read_ints("indices") == Ids{3, 4, 0});
    const auto search = make_search({.max_new_tokens = 2, .do_sample = true, .top_k = 3}, {{1}}, 5);
    CHECK_THAT(error_of([&] { search->advance(program->read("values"), program->read_ints("indices")); }),
               ContainsSubstring("the logits of row 0 are not finite"));
  }
}

TEST_CASE("only sequences that may be cut end with the context", "[generation]") {
  const Model gpt2 = fixture_model("gpt2");  // 32 positions
  const Ids five{1, 2, 3, 4, 5};
  CHECK(prepare_search(gpt2, {}, {five}).shape.capacity == 25);
  CHECK(prepare_search(gpt2, {.usual_new_tokens = 200}, {five}).shape.capacity == 32);
  CHECK(prepare_search(gpt2, {.max_length = 512}, {five, {1}}).shape.capacity == 32);
  CHECK(prepare_search(gpt2, {.max_new_tokens = 27}, {five}).shape.capacity == 32);
  const auto error = [](const Model& model, const GenerationConfig& config, const std::vector<Ids>& given) {
    return error_of([&] { prepare_search(model, config, given); });
  };
  CHECK_THAT(error(gpt2, {.max_new_tokens = 28}, {{1}, five}),
             ContainsSubstring("28 new tokens were asked for, after the prompt's 5 the model has positions for 27"));
  CHECK_THAT(error(gpt2, {}, {Ids(32, 1)}), ContainsSubstring("the prompt has 32 tokens, the model 32 positions"));
  const Model bart = fixture_model("bart");  // 24 positions
  const GenerationConfig starts{.decoder_start_token_id = 2};
  CHECK(prepare_search(bart, {.max_length = 100, .decoder_start_token_id = 2}, {Ids(24, 3)}).shape.capacity == 24);
  CHECK_THAT(error(bart, starts, {Ids(25, 3)}), ContainsSubstring("the source has 25 tokens, the model 24 positions"));
  CHECK_THAT(error(fixture_model("t5"), {.max_new_tokens = INT32_MAX, .decoder_start_token_id = 0}, {{1}}),
             ContainsSubstring("2147483647 new tokens were asked for"));
}

TEST_CASE("only caches are made for a generator: a tensor that nobody has is no cache", "[generation]") {
  const auto blocks_of = [](const Model& model) { return parameter_blocks(model.parameters, UINT64_MAX); };
  const Model t5 = fixture_model("t5");
  const GenerationPlan plan = plan_generation(t5, {.capacity = 9, .source_positions = 7}, blocks_of(t5));
  CHECK(plan.caches.size() == 4);  // two a decoder layer: those of the source do not follow the rows
  Model lacking = fixture_model("gpt2");
  const std::string lost = lacking.parameters.back().name;
  lacking.parameters.pop_back();
  CHECK_THAT(error_of([&] { plan_generation(lacking, {}, blocks_of(lacking)); }),
             ContainsSubstring("the store has no tensor '" + lost + "'"));
}

TEST_CASE("what can't be generated is refused before there is a device", "[generation]") {
  const auto error = [](const char* name, const std::vector<Ids>& given, const GenerationConfig& config) {
    const Model model = fixture_model(name);
    return error_of([&] { prepare_search(model, config, given); });
  };
  CHECK_THAT(error("bert_mlm", {{1}}, {}), ContainsSubstring("this bert model does not write text"));
  CHECK_THAT(error("xlnet", {{1}}, {}), ContainsSubstring("this xlnet model does not write text"));
  CHECK_THAT(error("gpt2", {{1, 97}}, {}), ContainsSubstring("token 97 is outside the vocabulary of 97"));
  CHECK_THAT(error("t5", {{1}, {97}}, {.decoder_start_token_id = 0}),
             ContainsSubstring("token 97 is outside the vocabulary of 97"));
  CHECK_THAT(error("t5", {{1}}, {}), ContainsSubstring("decoder_start_token_id"));
  CHECK_THAT(error("t5", {{1}}, {.decoder_start_token_id = 97}), ContainsSubstring("token 97 is outside"));
  CHECK_THAT(error("gpt2", {{1}, {}}, {}), ContainsSubstring("a prompt is empty"));
  CHECK_THAT(error("gpt2", {}, {}), ContainsSubstring("there is no prompt"));
}

TEST_CASE("prompts are padded a little and take few programs", "[generation]") {
  const Model model;
  for (const int64_t step : {0, 128}) {
    const GeneratorShape shape{.capacity = 3000, .prompt_step = step};
    std::set<int64_t> programs;
    for (int64_t length = 2; length < shape.capacity; ++length) {
      int64_t run = 0;
      for (int64_t position = 0; position < length;) {
        const int64_t positions = prompt_run(model, shape, length - position, position).positions;
        const bool in_room = positions >= 1 && position + positions <= shape.capacity;
        if (!in_room) FAIL(positions << " positions behind " << position << " of " << length << ", step " << step);
        run += positions;
        position += positions;
        programs.insert(positions);
      }
      if (step > 0 && length >= step && run > length + step) FAIL(run << " positions for " << length);
    }
    CHECK(programs.size() <= 25);
  }
  CHECK(prompt_run(model, {.capacity = 4096}, 1100) == RunShape(2048));
  CHECK(prompt_run(model, {.capacity = 4096, .prompt_step = 128}, 1100) == RunShape(1152));
  CHECK(prompt_run(model, {.capacity = 4096, .prompt_step = 128}, 100) == RunShape(128));
  CHECK(prompt_run(model, {.capacity = 4096, .prompt_step = 128}, 60) == RunShape(64));
}
