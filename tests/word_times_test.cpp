// Times of words against what tests/huggingface/make_word_times.py has recorded, and the weights that they come from
// against PyTorch's.

#include "models/transcription/word_times.h"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/stored_weights.h"
#include "models/transcription/token_alignment.h"
#include "models/verify/verify_parts.h"
#include "models/weights.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

const json& recorded() {
  static const json all = JsonObject::load(fixtures / "word_times.json").value();
  return all;
}

/// The bytes of a recorded text's tokens.
std::vector<std::string> tokens_of(size_t text) {
  std::vector<std::string> tokens;
  for (const std::string hex : recorded()["splits"][text]["tokens"]) {
    std::string& bytes = tokens.emplace_back();
    for (size_t i = 0; i < hex.size(); i += 2) bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return tokens;
}

void check_near(double got, const json& want) { CHECK(std::abs(got - want.get<double>()) < 1e-6); }

}  // namespace

TEST_CASE("tokens begin where the heads' weights say", "[word_times]") {
  for (const json& row : recorded()["alignments"]) {
    HeadWeights weights{.tokens = row["heads"][0].size(), .positions = row["heads"][0][0].size()};
    for (const json& head : row["heads"]) {
      auto& all = weights.heads.emplace_back();
      for (const json& token : head)
        for (const json& value : token) all.push_back(value);
    }
    const size_t count = row["matrix"].size(), seen = row["seen"];
    const std::vector<double> matrix = token_positions(weights, row["first"], count, seen);
    REQUIRE(matrix.size() == count * seen);
    for (size_t i = 0; i < matrix.size(); ++i) check_near(matrix[i], row["matrix"][i / seen][i % seen]);
    CHECK(json(token_begins(matrix, count)) == row["begins"]);
  }
  // Heads that tell nothing.
  CHECK(token_positions({.tokens = 2, .positions = 2, .heads = {{.5f, .5f, .5f, .5f}}}, 0, 2, 2) ==
        std::vector<double>(4));
}

TEST_CASE("words are parted at blanks and punctuation, or at characters", "[word_times]") {
  for (size_t text = 0; text < recorded()["splits"].size(); ++text)
    for (const bool by_characters : {false, true}) {
      const json& want = recorded()["splits"][text][by_characters ? "characters" : "spaces"];
      const auto words = split_into_words(tokens_of(text), by_characters);
      REQUIRE(words.size() == want.size());
      for (size_t i = 0; i < words.size(); ++i) {
        CHECK(words[i].tokens == want[i][1]);
        const std::string dumped = json(words[i].text).dump(-1, ' ', false, json::error_handler_t::replace);
        CHECK(json::parse(dumped) == want[i][0]);
      }
    }
}

TEST_CASE("words have times, punctuation their neighbours', and segments theirs", "[word_times]") {
  for (const json& row : recorded()["windows"]) {
    auto words = split_into_words(tokens_of(row["text"]), row["by_characters"]);
    const double usual =
        give_times(words, row["begins"].get<std::vector<double>>(), row["probabilities"].get<std::vector<double>>());
    check_near(usual, row["median"]);
    REQUIRE(words.size() == row["alignment"].size());
    for (size_t i = 0; i < words.size(); ++i) {
      const json& want = row["alignment"][i];
      CHECK(words[i].text == want["word"].get<std::string>());
      CHECK(words[i].tokens == want["tokens"]);
      check_near(words[i].begin, want["start"]);
      check_near(words[i].end, want["end"]);
      check_near(words[i].probability, want["probability"]);
    }
    std::vector<SpeechSegment> segments;
    for (const json& given : row["given"])
      segments.push_back(
          {.begin = given["start"], .end = given["end"], .ids = std::vector<int32_t>(given["tokens"].get<size_t>())});
    double spoken = row["spoken"];
    give_words(segments, words, row["offset"], usual, spoken);
    check_near(spoken, row["last"]);
    for (size_t s = 0; s < segments.size(); ++s) {
      json want = row["segments"][s];
      check_near(segments[s].begin, want["start"]);
      check_near(segments[s].end, want["end"]);
      std::erase_if(want["words"].get_ref<json::array_t&>(), [](const json& word) { return word["word"] == ""; });
      REQUIRE(segments[s].words.size() == want["words"].size());
      for (size_t i = 0; i < want["words"].size(); ++i) {
        CHECK(segments[s].words[i].text == want["words"][i]["word"].get<std::string>());
        check_near(segments[s].words[i].begin, want["words"][i]["start"]);
        check_near(segments[s].words[i].end, want["words"][i]["end"]);
      }
    }
  }
}

TEST_CASE("heads look where PyTorch's do while known tokens are read", "[word_times][device][one_driver]") {
  const auto folder = fixtures / "whisper";
  const Model model = load_model(folder);
  const SafetensorsFile expected(folder / "expected.safetensors");
  const std::vector<float> features = read_floats(expected, "input_features"),
                           cross = read_floats(expected, "cross_attention.0"), logits = read_floats(expected, "logits");
  const std::vector<int32_t> ids = read_ints(expected, "decoder_input_ids");
  constexpr size_t mels = 7, frames = 26, tokens = 9, positions = 13, vocabulary = 61, text_end = 40;
  for (const DType cache : {DType::f32, DType::f16}) {
    const auto backend = make_backend("", {.as_gpu = cache == DType::f16});
    const auto store = make_model_store(*backend, model);
    load_parameters(*store, model.parameters, folder);
    Generator generator(*backend, model, store, {.rows = 2, .cache_type = cache, .source_positions = positions});
    TokenAligner aligner(model, generator, {{0, 2}, {0, 0}}, text_end);
    for (size_t row = 0; row < 3; ++row) {
      std::vector<float> turned(frames * mels);
      for (size_t i = 0; i < turned.size(); ++i) turned[i] = features[(row * mels + i % mels) * frames + i / mels];
      generator.encode(turned);
      const std::span own(ids.data() + row * tokens, tokens);
      const TokenAlignment found = aligner.align(own);
      double worst = 0;
      for (size_t i = 0; i < tokens * positions; ++i)
        for (const auto& [at, head] : {std::pair<size_t, size_t>{0, 2}, {1, 0}})
          worst = std::max(worst, static_cast<double>(std::abs(found.weights.heads[at][i] -
                                                               cross[(row * 3 + head) * tokens * positions + i])));
      CHECK(worst < (cache == DType::f32 ? 1e-5 : 5e-3));
      for (size_t i = 0; i + 1 < tokens; ++i) {
        if (own[i + 1] >= static_cast<int32_t>(text_end)) continue;
        const auto of = [&](size_t id) { return static_cast<double>(logits[(row * tokens + i) * vocabulary + id]); };
        double sum = 0;
        for (size_t id = 0; id < text_end; ++id) sum += std::exp(of(id));
        CHECK(std::abs(found.probabilities[i] - std::exp(of(static_cast<size_t>(own[i + 1]))) / sum) < 1e-2);
      }
    }
  }
}

TEST_CASE("bytes that are no character show as one in words, too", "[word_times]") {
  std::vector<SpeechSegment> segments{{.ids = {1, 2}}};
  const std::vector<TimedWord> words{{.text = " a\xCC", .tokens = 2, .begin = 0, .end = 1}};
  double spoken = 0;
  give_words(segments, words, 0, 0.5, spoken);
  REQUIRE(segments[0].words.size() == 1);
  CHECK(segments[0].words[0].text == "a\xEF\xBF\xBD");
}
