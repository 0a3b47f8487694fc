// Conversations: what is kept in the cache, what is left out of a full context, and the files of templates and
// histories.

#include "models/chat/chat_files.h"
#include "models/chat/chat_history.h"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/generation/session_group.h"
#include "models/weights.h"
#include "runtime/op.h"
#include "tests/file_helpers.h"
#include "tests/generator_helpers.h"
#include "tests/model_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

using Ids = std::vector<int32_t>;

int32_t likeliest(const std::vector<float>& logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The likeliest `count` tokens after `prompt`.
Ids continued(GenerationSession& session, const Ids& prompt, int count) {
  Ids found;
  std::vector<float> logits = session.begin(prompt);
  for (int i = 0; i < count; ++i) {
    if (i > 0) logits = session.append(found.back());
    found.push_back(likeliest(logits));
  }
  return found;
}

/// Prompts that share beginnings, each answered from the kept cache and from scratch.
void check_kept_cache(Backend& backend, const std::string& name) {
  INFO(name);
  LoadedGenerator kept(backend, name, {.capacity = 30});
  GenerationSession session(kept.generator);
  const Ids first{5, 17, 3, 9};
  Ids grown = first;
  const Ids answer = continued(session, first, 4);
  grown.insert(grown.end(), answer.begin(), answer.end());
  Ids changed = grown;
  changed[5] = (changed[5] + 1) % 60;
  const Ids longer = [&] {
    Ids ids = grown;
    for (int32_t i = 0; i < 17; ++i) ids.push_back(i * 5 % 60);
    return ids;
  }();
  const Ids full = [&] {
    Ids ids = longer;
    ids.insert(ids.end(), {1, 2, 3, 4});  // nothing that pads fits behind these
    return ids;
  }();
  const struct {
    Ids ids;
    int64_t reused;
    int answer;
  } prompts[] = {{grown, 7, 3}, {changed, 5, 3}, {longer, 5, 2}, {full, 25, 1},
                 {full, 28, 1}, {first, 3, 4},   {{8}, 0, 3}};
  for (const auto& [ids, reused, count] : prompts) {
    // States don't go back to a part of what was run.
    const bool usable = !kept.model.recurrent || reused == std::ssize(session.ids());
    const Ids from_cache = continued(session, ids, count);
    CHECK(session.reused() == (usable ? reused : 0));
    LoadedGenerator fresh(backend, name, {.capacity = 30});
    GenerationSession alone(fresh.generator);
    CHECK(from_cache == continued(alone, ids, count));
    CHECK(alone.reused() == 0);
  }
}

/// Three sessions of unlike lengths that go on alone and together, beside each alone. `prompts`: they begin with more
/// than a token, which takes kernels that a driver without a GPU compiles for a minute where they are a GPU's.
void check_group(Backend& backend, const std::string& name, bool prompts) {
  INFO(name);
  const Model model = make_model(JsonObject::load(fixtures / name / "config.json"));
  const auto weights = make_model_store(backend, model);
  load_parameters(*weights, model.parameters, fixtures / name);
  const GeneratorShape shape{.capacity = 30};
  GeneratorShape of_three = shape;
  of_three.rows = 3;
  SessionGroup group(backend, model, weights, of_three);
  REQUIRE(group.shape().capacity == 24);
  std::vector<std::unique_ptr<Generator>> generators;
  std::vector<GenerationSession> alone;
  for (int i = 0; i < 3; ++i)
    alone.emplace_back(*generators.emplace_back(std::make_unique<Generator>(backend, model, weights, shape)));
  const auto near = [](std::span<const float> a, std::span<const float> b) {
    REQUIRE(a.size() == b.size());
    return std::ranges::equal(a, b, [](float x, float y) { return std::abs(x - y) < 1e-4F; });
  };
  const auto begin = [&](size_t i, const Ids& prompt) {
    for (size_t n = prompts ? prompt.size() : 1; n <= prompt.size(); ++n)
      CHECK(near(group.session(i).begin(std::span(prompt).first(n)), alone[i].begin(std::span(prompt).first(n))));
  };
  int32_t token = 7;
  const auto append = [&](const std::vector<size_t>& which) {
    std::vector<SessionGroup::Next> next;
    for (const size_t i : which) next.push_back({i, token = (token * 5 + 3) % 60});
    const std::vector<float> logits = group.append(next, true);
    const size_t columns = logits.size() / next.size();
    for (size_t i = 0; i < next.size(); ++i)
      CHECK(near(std::span(logits).subspan(i * columns, columns), alone[next[i].session].append(next[i].token)));
  };
  begin(0, {5, 17, 3, 9});
  begin(2, {8, 8, 1, 2, 3, 4, 9, 11, 30, 2, 5, 6, 7});
  for (int i = 0; i < 3; ++i) append({0, 2});
  begin(1, {4});
  for (int i = 0; i < 5; ++i) append({2, 0, 1});
  CHECK(near(group.session(1).append(9), alone[1].append(9)));
  begin(0, {5, 17, 3, 9, 40, 41});  // part of it is kept
  for (int i = 0; i < 3; ++i) append({0, 1, 2});
  CHECK(group.session(2).ids().size() == 24);
  CHECK_THAT(error_of([&] { append({1, 2}); }), ContainsSubstring("the context of 24"));
  append({0, 1});  // beside one that is full
}

bool fails = false;

/// Gives what it takes but, where `fails`, throws once: as a device that has no memory for the rest of a run.
const Op failing_op = {.name = "failing",
                       .infer = [](const Node& node) { return Types{node.input_types[0]}; },
                       .reference =
                           [](const Node&, Inputs in, Outputs out) {
                             check(!std::exchange(fails, false), "no memory");
                             out[0].data = in[0]->data;
                           }};

/// The model, whose runs fail behind its layers.
Model failing(Model model) {
  model.head = [head = model.head](Graph& graph, const Pass& pass, Value hidden) {
    return graph.apply(failing_op, {head(graph, pass, hidden)});
  };
  return model;
}

/// Goes on where a run has failed, be it of one session or of several, with what each would give from scratch.
void check_failed_runs(Backend& backend, const std::string& name) {
  INFO(name);
  const Model model = failing(model_of(fixture_config(name)));
  const auto weights = make_model_store(backend, model);
  load_parameters(*weights, model.parameters, fixtures / name);
  Generator fresh(backend, model, weights, {.capacity = 30});
  GenerationSession alone(fresh);
  SessionGroup group(backend, model, weights, {.rows = 2, .capacity = 30});
  GenerationSession& session = group.session(0);
  const auto fail_in = [](auto run) {
    fails = true;
    CHECK_THAT(error_of(run), ContainsSubstring("no memory"));
  };
  const auto check_next = [&](const Ids& prompt, size_t run) {
    const Ids found = continued(session, prompt, 2);
    CHECK(session.reused() == static_cast<int64_t>(model.recurrent ? 0 : run));
    alone.clear();
    CHECK(found == continued(alone, prompt, 2));
  };
  const Ids prompt{5, 17, 3, 9}, longer{5, 17, 3, 9, 7, 8}, longest{5, 17, 3, 9, 7, 8, 11, 2};
  session.begin(prompt);
  fail_in([&] { session.append(7); });
  if (model.recurrent)
    CHECK_THAT(error_of([&] { session.append(7); }), ContainsSubstring("can't go back from 5 positions to 4"));
  else
    session.append(7);
  check_next(longer, prompt.size() + 1);
  session.begin(longer);
  fail_in([&] { session.begin(longest); });
  check_next(longest, longer.size());
  session.clear();
  fail_in([&] { session.score(prompt, prompt, 0); });
  check_next(longer, 0);
  session.begin(prompt);
  group.session(1).begin(prompt);
  const SessionGroup::Next next[] = {{0, 7}, {1, 9}};
  fail_in([&] { group.append(next, true); });
  if (!model.recurrent) {
    group.append(next, true);
    CHECK(group.generator(0).position() == 5);
  }
  check_next(longer, prompt.size() + 1);
}

ChatPrompts counted_prompts(int64_t context, int64_t room) {
  // A token a character.
  return {ChatTemplate("{% for m in messages %}{{ m.role[0] }}{{ m.content }};{% endfor %}", "t"),
          {},
          [](std::string_view text, const std::vector<std::string>&) { return Ids(text.begin(), text.end()); },
          context,
          room};
}

}  // namespace

TEST_CASE("answers from a kept cache are those from scratch", "[chat]") {
  const auto backend = make_reference_backend();
  for (const char* name : {"gpt2", "llama", "mistral", "qwen2", "qwen3_5"}) check_kept_cache(*backend, name);
}

TEST_CASE("answers from a kept cache on the device are those from scratch", "[chat][device][one_driver]") {
  const auto backend = make_backend("");
  for (const char* name : {"gpt2", "llama", "mistral", "qwen3_5"}) check_kept_cache(*backend, name);
}

TEST_CASE("sessions that go on together are what each is alone", "[chat]") {
  const auto backend = make_reference_backend();
  for (const char* name :
       {"gpt2", "llama", "mistral", "bloom", "gemma4_small", "qwen3_5", "lfm2", "granite4_mamba", "nemotron_h"})
    check_group(*backend, name, true);
}

TEST_CASE("sessions that go on together on a device are what each is alone", "[chat][device][one_driver]") {
  for (const char* name : {"gpt2", "qwen3_5"}) check_group(*make_backend(""), name, true);
  INFO("as a GPU");
  check_group(*make_backend("", {.as_gpu = true}), "mistral", false);
}

TEST_CASE("nothing goes on from the states that a failed run has left", "[chat]") {
  const auto backend = make_reference_backend();
  for (const char* name : {"llama", "qwen3_5", "lfm2", "granite4_mamba", "nemotron_h"})
    check_failed_runs(*backend, name);
}

TEST_CASE("a session refuses what does not fit", "[chat]") {
  const auto backend = make_reference_backend();
  LoadedGenerator loaded(*backend, "gpt2", {.capacity = 12});
  GenerationSession session(loaded.generator);
  CHECK_THAT(error_of([&] { session.begin(Ids(13, 1)); }),
             ContainsSubstring("13 more don't fit into the context of 12"));
  CHECK_THAT(error_of([&] { session.begin(Ids()); }), ContainsSubstring("the prompt is empty"));
  CHECK_THAT(error_of([&] { loaded.generator.rewind(1); }), ContainsSubstring("it can't go back to 1"));
  LoadedGenerator recurrent(*backend, "qwen3_5", {.capacity = 12});
  recurrent.generator.append(Ids{1, 2, 3});
  CHECK_THAT(error_of([&] { recurrent.generator.rewind(2); }),
             ContainsSubstring("keeps states, which can't go back from 3 positions to 2"));
  session.begin(Ids(12, 1));
  CHECK_THAT(error_of([&] { session.append(1); }), ContainsSubstring("12 positions are taken"));
}

TEST_CASE("the oldest turns leave a full context", "[chat]") {
  ChatPrompts prompts = counted_prompts(40, 10);
  ChatHistory history;
  history.set_system("S");
  const auto text_of = [](const Ids& ids) { return std::string(ids.begin(), ids.end()); };
  for (const char* question : {"one", "two", "three"}) {
    history.add_question(question);
    CHECK(prompts.left_out() == 0);
    prompts.of(history);
    history.add_answer("yes");
  }
  history.add_question("four");
  // 37 tokens leave no room for an answer: two turns go, so that half of the context is free.
  CHECK(text_of(prompts.of(history)) == "sS;ufour;");
  CHECK(prompts.left_out() == 3);
  history.add_answer("yes");
  history.add_question("five");
  CHECK(text_of(prompts.of(history)) == "sS;ufour;ayes;ufive;");
  CHECK(prompts.left_out() == 3);
  history.clear();
  history.add_question("new");
  CHECK(text_of(prompts.of(history)) == "sS;unew;");
  CHECK(prompts.left_out() == 0);
  history.clear();
  history.add_question(std::string(50, 'x'));
  CHECK_THAT(error_of([&] { prompts.of(history); }),
             ContainsSubstring("the last question has 55 tokens, the context 40"));
}

TEST_CASE("histories are taken back, saved and loaded", "[chat]") {
  ChatHistory history;
  CHECK_FALSE(history.drop_turn());
  CHECK_FALSE(history.drop_answer());
  CHECK_THAT(error_of([&] { history.add_answer("x"); }), ContainsSubstring("needs a question"));
  history.set_system("Be kind.");
  history.add_question("Hi");
  CHECK_THAT(error_of([&] { history.add_question("Hi"); }), ContainsSubstring("has no answer yet"));
  history.add_answer("Hello");
  history.add_question("And \"now\"?");
  const TemporaryFolder folder;
  history.save(folder / "chat.json");
  CHECK(ChatHistory::load(folder / "chat.json").messages() == history.messages());
  put(folder / "list.json", R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])");
  ChatHistory loaded = ChatHistory::load(folder / "list.json");
  CHECK(loaded.answered());
  CHECK(loaded.drop_answer());
  CHECK(loaded.turns() == 1);
  for (const char* wrong :
       {R"([{"role": "assistant", "content": "b"}])", R"([{"role": "user", "content": 1}])", R"({})",
        R"([{"role": "user", "content": "a"}, {"role": "system", "content": "b"}])", R"([1])", "x"}) {
    put(folder / "wrong.json", wrong);
    CHECK_THAT(error_of([&] { ChatHistory::load(folder / "wrong.json"); }), ContainsSubstring("wrong.json"));
  }
}

TEST_CASE("templates are found where transformers finds them", "[chat]") {
  const TemporaryFolder folder;
  const auto found = [&] {
    const auto chat = find_chat_template(folder.path());
    return chat ? chat->render({}).text : "none";
  };
  CHECK(found() == "none");
  put(folder / "chat_template.json", R"({"chat_template": "processor"})");
  CHECK(found() == "processor");
  put(folder / "tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "tools"},
    {"name": "default", "template": "named"}], "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>",
    "pad_token": null})");
  CHECK(found() == "named");
  CHECK(find_chat_template(folder.path(), "tool_use")->render({}).text == "tools");
  put(folder / "special_tokens_map.json", R"({"eos_token": "<e>", "unk_token": "<u>"})");
  CHECK(special_token_variables(folder.path()) ==
        nlohmann::ordered_json{{"eos_token", "</s>"}, {"unk_token", "<u>"}, {"bos_token", "<s>"}});
  put(folder / "tokenizer_config.json", R"({"chat_template": "config"})");
  CHECK(found() == "config");
  put(folder / "chat_template.jinja", "file");
  CHECK(found() == "file");
  put(folder / "tokenizer_config.json", R"({"chat_template": [{"name": "x", "template": "y"}]})");
  std::filesystem::remove(folder / "chat_template.jinja");
  CHECK_THAT(error_of(found), ContainsSubstring("has none called \"default\""));
  CHECK_THAT(error_of([&] { chat_template_named("nonsense"); }), ContainsSubstring("there is chatml"));
}

TEST_CASE("the text behind answers tells what ends one", "[chat]") {
  CHECK(text_behind_answers(chat_template_named("chatml"), {}) == "<|im_end|>\n");
  CHECK(text_behind_answers(ChatTemplate("{{ raise_exception('no') }}", "t"), {}).empty());
  CHECK(text_behind_answers(ChatTemplate("{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}", "t"),
                            {{"eos_token", "</s>"}}) == "</s>");
}
