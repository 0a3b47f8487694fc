// generation_config.json and the rules it sets for scores. Expected values follow the definitions by hand.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <limits>

#include "models/generation/logits_rules.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

GenerationConfig parsed(const std::string& text) { return parse_generation_config(JsonObject::parse(text, "g.json")); }

std::string error_of_config(const std::string& text) {
  return error_of([&] { parsed(text); });
}

constexpr double banned = -std::numeric_limits<double>::infinity();

/// The scores after the rules, for ids that begin with a prompt.
std::vector<double> ruled(const GenerationConfig& config, std::vector<int32_t> ids, int64_t prompt_length,
                          std::vector<double> scores) {
  const LogitsRules rules(config, prompt_length, static_cast<int64_t>(scores.size()));
  rules.apply(ids, static_cast<int64_t>(ids.size()) - prompt_length, scores);
  return scores;
}

}  // namespace

TEST_CASE("generation_config.json is read with Hugging Face's names", "[generation_config]") {
  const GenerationConfig c = parsed(R"({
    "max_new_tokens": 16, "max_length": 512, "min_new_tokens": 2, "min_length": 5, "num_beams": 4,
    "num_return_sequences": 3, "length_penalty": 0.6, "early_stopping": true, "eos_token_id": [2, 7],
    "pad_token_id": 0, "bos_token_id": 1, "decoder_start_token_id": 9, "forced_bos_token_id": 11,
    "forced_eos_token_id": 2, "bad_words_ids": [[96], [3, 4]], "suppress_tokens": [5, 6],
    "begin_suppress_tokens": [7], "renormalize_logits": true, "no_repeat_ngram_size": 3, "repetition_penalty": 1.2,
    "do_sample": true, "temperature": 0.7, "top_k": 10, "top_p": 0.9, "min_p": 0.05, "transformers_version": "5.0", "use_cache": true,
    "num_beam_groups": 1, "diversity_penalty": 0.0, "encoder_no_repeat_ngram_size": 0, "typical_p": 1.0,
    "constraints": null, "force_words_ids": []
  })");
  CHECK(c.max_new_tokens == 16);
  CHECK(c.max_length == 512);
  CHECK(c.min_new_tokens == 2);
  CHECK(c.min_length == 5);
  CHECK(c.num_beams == 4);
  CHECK(c.num_return_sequences == 3);
  CHECK(c.length_penalty == 0.6);
  CHECK(c.early_stopping == EarlyStopping::yes);
  CHECK(c.eos_token_ids == std::vector<int32_t>{2, 7});
  CHECK(c.bos_token_id == 1);
  CHECK(c.decoder_start_token_id == 9);
  CHECK(c.forced_bos_token_id == 11);
  CHECK(parsed(R"({"force_bos_token_to_be_generated": true, "bos_token_id": 3})").forced_bos_token_id == 3);
  CHECK(c.forced_eos_token_ids == std::vector<int32_t>{2});
  CHECK(c.bad_words_ids == std::vector<std::vector<int32_t>>{{96}, {3, 4}});
  CHECK(c.suppress_tokens == std::vector<int32_t>{5, 6});
  CHECK(c.begin_suppress_tokens == std::vector<int32_t>{7});
  CHECK(c.renormalize_logits);
  CHECK(c.no_repeat_ngram_size == 3);
  CHECK(c.repetition_penalty == 1.2);
  CHECK(c.do_sample);
  CHECK(c.temperature == 0.7);
  CHECK(c.top_k == 10);
  CHECK(c.top_p == 0.9);
  CHECK(c.min_p == 0.05);
  CHECK_FALSE(c.temperature_last);
}

TEST_CASE("absent and null keys keep the defaults, negative ids are none", "[generation_config]") {
  const GenerationConfig c = parsed(R"({"eos_token_id": null, "early_stopping": "never", "pad_token_id": -1,
    "bos_token_id": -1, "decoder_start_token_id": -1, "forced_eos_token_id": -1, "suppress_tokens": null, "top_k": -1})");
  CHECK(c.eos_token_ids.empty());
  CHECK_FALSE(c.bos_token_id);
  CHECK_FALSE(c.decoder_start_token_id);
  CHECK(c.forced_eos_token_ids.empty());
  CHECK(c.top_k == 0);
  CHECK(parsed("{}").top_k == 50);
  CHECK(parsed(R"({"eos_token_id": -1})").eos_token_ids.empty());
  CHECK(parsed(R"({"eos_token_id": [4, -1, 5]})").eos_token_ids == std::vector<int32_t>{4, 5});
  CHECK(c.early_stopping == EarlyStopping::never);
  CHECK(c.num_beams == 1);
  CHECK(c.length_penalty == 1);
  CHECK_FALSE(c.max_new_tokens);
  CHECK_FALSE(c.has_length());
  CHECK_FALSE(c.do_sample);
  CHECK(parsed(R"({"early_stopping": false})").early_stopping == EarlyStopping::no);
  CHECK(parsed(R"({"eos_token_id": 3})").eos_token_ids == std::vector<int32_t>{3});
  CHECK(parsed(R"({"bad_words_ids": []})").bad_words_ids.empty());
}

TEST_CASE("an older folder's config.json stands in for generation_config.json", "[generation_config]") {
  const TemporaryFolder folder;
  const auto load = [&] { return load_generation_config(folder.path()); };
  CHECK_THAT(error_of(load), ContainsSubstring("config.json: No such file"));
  put(folder / "config.json", R"({"d_model": 512, "num_beams": 6, "eos_token_id": 0, "bad_words_ids": [[58100]]})");
  CHECK(load().num_beams == 6);
  CHECK(load().bad_words_ids == std::vector<std::vector<int32_t>>{{58100}});
  put(folder / "generation_config.json", R"({"num_beams": 2})");
  CHECK(load().num_beams == 2);
  CHECK(load().eos_token_ids.empty());
}

TEST_CASE("an older config.json has the ids of its class, unless it says otherwise", "[generation_config]") {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& text) {
    put(folder / "config.json", text);
    return load_generation_config(folder.path());
  };
  GenerationConfig c = load(R"({"model_type": "bart"})");
  CHECK(c.forced_eos_token_ids == std::vector<int32_t>{2});
  CHECK(c.decoder_start() == 2);
  CHECK(load(R"({"model_type": "bart", "forced_eos_token_id": null})").forced_eos_token_ids.empty());
  CHECK(load(R"({"model_type": "bart", "decoder_start_token_id": null})").decoder_start() == 0);
  c = load(R"({"model_type": "t5"})");
  CHECK(c.decoder_start() == 0);
  CHECK(c.eos_token_ids == std::vector<int32_t>{1});
  c = load(R"({"model_type": "marian", "decoder_start_token_id": 96})");
  CHECK(c.decoder_start() == 96);
  CHECK(c.forced_eos_token_ids == std::vector<int32_t>{0});
  CHECK(load(R"({"model_type": "gpt2"})").eos_token_ids.empty());
  put(folder / "generation_config.json", "{}");
  CHECK(load(R"({"model_type": "bart"})").forced_eos_token_ids.empty());
}

TEST_CASE("what would change the result and is not implemented is refused", "[generation_config]") {
  for (const char* setting :
       {R"("num_beam_groups": 2)", R"("diversity_penalty": 0.5)", R"("penalty_alpha": 0.6)",
        R"("encoder_repetition_penalty": 1.2)", R"("encoder_no_repeat_ngram_size": 3)", R"("guidance_scale": 1.5)",
        R"("typical_p": 0.9)", R"("epsilon_cutoff": 1e-4)", R"("eta_cutoff": 1e-4)", R"("constraints": [1])",
        R"("force_words_ids": [[1]])", R"("sequence_bias": [[[1], 2.5]])",
        R"("exponential_decay_length_penalty": [3, 1.1])", R"("forced_decoder_ids": [[1, 2]])",
        R"("stop_strings": "a")", R"("watermarking_config": {"bias": 2})", R"("dola_layers": "low")"}) {
    const std::string text = setting, key = text.substr(0, text.find(':'));
    CHECK_THAT(error_of_config("{" + text + "}"), ContainsSubstring("g.json: " + key + " is not supported; remove it"));
    CHECK(error_of_config("{" + key + ": null}").empty());
  }
  CHECK_THAT(error_of_config(R"({"num_beam_groups": 2})"), ContainsSubstring("or set it to 1"));
}

TEST_CASE("wrong values in generation_config.json give one line", "[generation_config]") {
  CHECK_THAT(error_of_config(R"({"num_beams": 0})"),
             ContainsSubstring("g.json: \"num_beams\" must be an integer from 1"));
  CHECK_THAT(error_of_config(R"({"num_beams": 100000})"), ContainsSubstring("not 100000"));
  CHECK_THAT(error_of_config(R"({"max_new_tokens": "16"})"), ContainsSubstring("\"max_new_tokens\""));
  CHECK_THAT(error_of_config(R"({"max_length": 0})"), ContainsSubstring("\"max_length\""));
  CHECK_THAT(error_of_config(R"({"length_penalty": "1"})"), ContainsSubstring("\"length_penalty\""));
  CHECK_THAT(error_of_config(R"({"repetition_penalty": 0})"), ContainsSubstring("\"repetition_penalty\""));
  CHECK_THAT(error_of_config(R"({"top_p": 1.5})"), ContainsSubstring("\"top_p\""));
  CHECK_THAT(error_of_config(R"({"early_stopping": "yes"})"),
             ContainsSubstring("\"early_stopping\" must be true, false or \"never\""));
  CHECK_THAT(error_of_config(R"({"early_stopping": 1})"), ContainsSubstring("\"early_stopping\""));
  for (const char* ids : {"-2", "1.5", "true", "[1, -2]", "[[1]]", "[\"a\"]", "[18446744073709551615]", "[2147483648]"})
    CHECK_THAT(error_of_config("{\"eos_token_id\": " + std::string(ids) + "}"), ContainsSubstring("\"eos_token_id\""));
  for (const char* lists : {"1", "[1]", "[[]]", "[[1], [-1]]", "[[1, 2.5]]", "{\"a\": 1}"})
    CHECK_THAT(error_of_config("{\"bad_words_ids\": " + std::string(lists) + "}"),
               ContainsSubstring("\"bad_words_ids\" must be a list of lists of token ids"));
}

TEST_CASE("lengths count from the prompt", "[generation_config]") {
  CHECK(GenerationConfig().most_new_tokens(1) == 20);
  CHECK(GenerationConfig().most_new_tokens(30) == 20);
  CHECK(GenerationConfig{.usual_new_tokens = 200}.most_new_tokens(30) == 200);
  CHECK(GenerationConfig{.max_length = 512, .usual_new_tokens = 200}.most_new_tokens(12) == 500);
  CHECK(GenerationConfig{.max_length = 512}.most_new_tokens(1) == 511);
  CHECK(GenerationConfig{.max_length = 20, .usual_new_tokens = 200}.most_new_tokens(3) == 17);
  CHECK(GenerationConfig{.max_new_tokens = 7, .max_length = 512}.most_new_tokens(600) == 7);
  CHECK_THAT(error_of([] { GenerationConfig{.max_length = 10}.most_new_tokens(10); }),
             ContainsSubstring("the prompt has 10 tokens, but max_length is 10"));
  CHECK(GenerationConfig{.min_length = 5}.least_new_tokens(2) == 3);
  CHECK(GenerationConfig{.min_length = 5}.least_new_tokens(9) == 0);
  CHECK(GenerationConfig{.min_new_tokens = 4, .min_length = 5}.least_new_tokens(9) == 4);
  CHECK(GenerationConfig{.bos_token_id = 3}.decoder_start() == 3);
  CHECK(GenerationConfig{.bos_token_id = 3, .decoder_start_token_id = 0}.decoder_start() == 0);
  CHECK_THAT(error_of([] { GenerationConfig().decoder_start(); }), ContainsSubstring("decoder_start_token_id"));
}

TEST_CASE("no rule leaves the scores alone", "[logits_rules]") {
  CHECK(ruled({.eos_token_ids = {0}}, {1, 1, 1}, 1, {0.5, -1, 2}) == std::vector<double>{0.5, -1, 2});
}

TEST_CASE("no end id before the least length", "[logits_rules]") {
  const GenerationConfig by_length{.min_length = 3, .eos_token_ids = {0, 2, 99}};
  CHECK(ruled(by_length, {1, 1}, 2, {1, 2, 3}) == std::vector<double>{banned, 2, banned});
  CHECK(ruled(by_length, {1, 1, 1}, 2, {1, 2, 3}) == std::vector<double>{1, 2, 3});
  const GenerationConfig by_count{.min_new_tokens = 2, .eos_token_ids = {0}};
  CHECK(ruled(by_count, {1, 1, 1}, 2, {1, 2, 3}) == std::vector<double>{banned, 2, 3});
  CHECK(ruled(by_count, {1, 1, 1, 1}, 2, {1, 2, 3}) == std::vector<double>{1, 2, 3});
}

TEST_CASE("the repetition penalty takes each id once, prompt included", "[logits_rules]") {
  const GenerationConfig config{.repetition_penalty = 2};
  CHECK(ruled(config, {0, 3, 3, 1, 3}, 1, {4, -1, 5, -3, 0}) == std::vector<double>{2, -2, 5, -6, 0});
}

TEST_CASE("penalties of recent tokens are llama.cpp's", "[logits_rules]") {
  // logit <= 0: times the penalty, else divided; less count * frequency + presence.
  const std::vector<int32_t> ids{3, 0, 1, 1, 2};
  const std::vector<double> scores{4, -1, 0, 5, 6};
  GenerationConfig config{.recent_penalties = {.repeat = 2, .presence = 0.5, .frequency = 0.25}};
  CHECK(ruled(config, ids, 1, scores) == std::vector<double>{1.25, -3, -0.75, 1.75, 6});
  config.recent_penalties.last = 3;  // 1, 1, 2
  CHECK(ruled(config, ids, 1, scores) == std::vector<double>{4, -3, -0.75, 5, 6});
  config.recent_penalties.last = 0;
  CHECK(ruled(config, ids, 1, scores) == scores);
  CHECK(LogitsRules(config, 1, 5).none());
  config.recent_penalties.last = -1;
  CHECK_FALSE(LogitsRules(config, 1, 5).none());
}

TEST_CASE("biases are added before penalties", "[logits_rules]") {
  const GenerationConfig config{.recent_penalties = {.repeat = 2}, .logit_bias = {{0, 5}, {1, banned}, {0, 1}}};
  CHECK(ruled(config, {0}, 1, {-4, 1, 2}) == std::vector<double>{1, banned, 2});
  CHECK_THAT(error_of([] {
               LogitsRules({.logit_bias = {{3, 1}}}, 1, 3);
             }),
             ContainsSubstring("logit bias: token 3 is outside the vocabulary of 3"));
}

TEST_CASE("no n-gram comes twice", "[logits_rules]") {
  const std::vector<double> scores{1, 2, 3, 4};
  // 1 2 was followed by 3 and by 0.
  CHECK(ruled({.no_repeat_ngram_size = 3}, {1, 2, 3, 1, 2, 0, 1, 2}, 1, scores) ==
        std::vector<double>{banned, 2, 3, banned});
  CHECK(ruled({.no_repeat_ngram_size = 2}, {1, 1}, 1, scores) == std::vector<double>{1, banned, 3, 4});
  CHECK(ruled({.no_repeat_ngram_size = 1}, {3, 1}, 1, scores) == std::vector<double>{1, banned, 3, banned});
  CHECK(ruled({.no_repeat_ngram_size = 3}, {1, 1}, 1, scores) == scores);
  CHECK(ruled({.no_repeat_ngram_size = 2}, {1}, 1, scores) == scores);
  CHECK(ruled({.no_repeat_ngram_size = 1000000}, {1, 1, 1}, 1, scores) == scores);
}

TEST_CASE("bad words are banned where they would end", "[logits_rules]") {
  const std::vector<double> scores{1, 2, 3, 4};
  const GenerationConfig config{.eos_token_ids = {0}, .bad_words_ids = {{2}, {1, 3}, {1, 1, 1}, {0}}};
  CHECK(ruled(config, {3}, 1, scores) == std::vector<double>{1, 2, banned, 4});
  CHECK(ruled(config, {3, 1}, 1, scores) == std::vector<double>{1, 2, banned, banned});
  CHECK(ruled(config, {3, 1, 1}, 1, scores) == std::vector<double>{1, banned, banned, banned});
  // Sequences longer than what is there are not looked for.
  CHECK(ruled(config, {1}, 1, scores) == std::vector<double>{1, 2, banned, 4});
  CHECK(ruled(config, {1, 1}, 1, scores) == std::vector<double>{1, 2, banned, banned});
  CHECK(ruled(
            {
                .bad_words_ids = {{0, 0}},
            },
            {3, 0}, 1, scores) == std::vector<double>{banned, 2, 3, 4});
}

TEST_CASE("first and last id can be forced, whatever is banned", "[logits_rules]") {
  const std::vector<double> scores{1, 2, 3, 4};
  const GenerationConfig config{.max_new_tokens = 3,
                                .min_new_tokens = 9,
                                .eos_token_ids = {0},
                                .forced_bos_token_id = 2,
                                .forced_eos_token_ids = {0, 1},
                                .bad_words_ids = {{2}}};
  CHECK(ruled(config, {1}, 1, scores) == std::vector<double>{banned, banned, 0, banned});
  CHECK(ruled(config, {1, 2}, 1, scores) == std::vector<double>{banned, 2, banned, 4});
  CHECK(ruled(config, {1, 2, 3}, 1, scores) == std::vector<double>{0, 0, banned, banned});
  CHECK(ruled(config, {1, 2}, 2, scores) == std::vector<double>{banned, 2, banned, 4});  // a prompt of two ids
}

TEST_CASE("suppressed ids never come, or not at first", "[logits_rules]") {
  const std::vector<double> scores{1, 2, 3, 4};
  GenerationConfig config{.max_new_tokens = 4, .suppress_tokens = {2, 9}, .begin_suppress_tokens = {0, 9}};
  CHECK(ruled(config, {1, 1}, 2, scores) == std::vector<double>{banned, 2, banned, 4});
  CHECK(ruled(config, {1, 1, 3}, 2, scores) == std::vector<double>{1, 2, banned, 4});
  // Behind a forced first id the beginning is one id later.
  config.forced_bos_token_id = 0;
  CHECK(ruled(config, {1}, 1, scores) == std::vector<double>{0, banned, banned, banned});
  CHECK(ruled(config, {1, 0}, 1, scores) == std::vector<double>{banned, 2, banned, 4});
  CHECK(ruled(config, {1, 0, 1}, 1, scores) == std::vector<double>{1, 2, banned, 4});
  CHECK(ruled(config, {1, 1}, 2, scores) == std::vector<double>{banned, 2, banned, 4});
}

TEST_CASE("scores can be renormalised after all other rules", "[logits_rules]") {
  const GenerationConfig config{.suppress_tokens = {0}, .renormalize_logits = true};
  const auto scores = ruled(config, {1}, 1, {0, std::log(.1), std::log(.3)});
  CHECK(scores[0] == banned);
  CHECK(std::abs(scores[1] - std::log(.25)) < 1e-12);
  CHECK(std::abs(scores[2] - std::log(.75)) < 1e-12);
  const GenerationConfig nothing{.suppress_tokens = {0, 1, 2}, .renormalize_logits = true};
  CHECK(ruled(nothing, {1}, 1, {0, 0, 0}) == std::vector<double>{banned, banned, banned});
}

TEST_CASE("rules for ids outside the vocabulary are refused", "[logits_rules]") {
  const auto error = [](const GenerationConfig& config) { return error_of([&] { LogitsRules(config, 1, 4); }); };
  CHECK_THAT(error({.bad_words_ids = {{1, 4}}}),
             ContainsSubstring("bad_words_ids: token 4 is outside the vocabulary of 4"));
  CHECK_THAT(error({.bad_words_ids = {{}}}), ContainsSubstring("an empty list"));
  CHECK_THAT(error({.forced_bos_token_id = 4}), ContainsSubstring("forced_bos_token_id: token 4"));
  CHECK_THAT(error({.forced_eos_token_ids = {-1}}), ContainsSubstring("forced_eos_token_id: token -1"));
  CHECK(error({.eos_token_ids = {4}}).empty());
}
