// Pictures with rows and columns of positions (Qwen's "M-RoPE") in caches: a position of a cache is not what it counts
// as.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "models/generation/session_group.h"
#include "models/images/fitted_size.h"
#include "models/weights.h"
#include "tests/seeing_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

using Counted = std::vector<CountedAs>;

/// Of one row of recorded logits, the largest difference as a share of the largest.
double off_by(const std::vector<float>& logits, const std::vector<float>& all, size_t row) {
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(row * logits.size());
  return share_of_largest(logits, {begin, begin + static_cast<std::ptrdiff_t>(logits.size())});
}

/// config.json with all of the text beside the rest, as files of the first years have it.
json flat(const json& config) {
  json result = config;
  result.update(config.at("text_config"));
  result["model_type"] = config.at("model_type");
  result.erase("text_config");
  json rope = config.at("text_config").at("rope_parameters");
  result["rope_theta"] = rope.at("rope_theta");
  rope.erase("rope_theta");
  rope.erase("rope_type");
  rope["type"] = "mrope";
  result["rope_scaling"] = rope;
  result.erase("rope_parameters");
  return result;
}

}  // namespace

TEST_CASE("a picture counts as many positions as its longer side has", "[seeing]") {
  PicturedPositions counted;
  const auto place = [](int32_t id) { return PicturePlace{id - 100, 2, 3}; };
  const std::vector<int32_t> ids{1, 2, 100, 101, 102, 103, 104, 105, 3};
  const Counted expected{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {2, 2, 3}, {2, 2, 4},
                         {2, 3, 2}, {2, 3, 3}, {2, 3, 4}, {5, 5, 5}};
  CHECK(counted.go_on(0, ids, 50, place) == expected);
  CHECK(counted.at(9) == 6);
  CHECK(counted.at(2) == 2);  // of what lies before it
  // In the middle of the picture it is not yet behind it.
  counted.rewind(5);
  CHECK(counted.at(5) == 5);
  const Counted rest(expected.begin() + 5, expected.end());
  CHECK(counted.go_on(5, std::span(ids).subspan(5), 50, place) == rest);
  // A second one.
  CHECK(counted.go_on(9, std::vector<int32_t>{100, 101}, 50, place) == Counted{{6, 6, 6}, {6, 6, 7}});
}

TEST_CASE("text behind pictures counts on from what they count as", "[seeing]") {
  const auto backend = make_reference_backend();
  for (const char* name : {"qwen2_5_vl", "qwen3_vl"}) {
    INFO(name);
    const Recorded recorded(name);
    const std::vector<float> expected = recorded.floats("logits");
    Seer seer(*backend, name, {.capacity = 160});
    const std::vector<int32_t> ids = seer.sight.encoded(recorded.file.metadata().at("text"), seer.both());
    const auto first =
        static_cast<size_t>(std::ranges::find_if(ids, [](int32_t id) { return id >= 268; }) - ids.begin());
    const size_t behind = first + 15;
    REQUIRE(ids[behind - 1] >= 268);
    REQUIRE(ids[behind] < 268);
    GenerationSession session(seer.generator);
    const auto run = [&](size_t count) {
      return off_by(session.begin(std::span(ids).first(count)), expected, count - 1);
    };
    CHECK(run(first) < 2e-5);   // text alone
    CHECK(run(behind) < 2e-5);  // the cache goes on with a picture
    for (size_t i = behind; i < behind + 4; ++i) CHECK(off_by(session.append(ids[i]), expected, i) < 2e-5);
    CHECK(run(ids.size()) < 2e-5);
    CHECK(session.reused() == static_cast<int64_t>(behind + 4));
    // Back to the first question, into the first picture, and on again.
    CHECK(run(behind + 2) < 2e-5);
    session.keep(first + 7);
    CHECK(run(behind + 3) < 2e-5);
    CHECK(session.reused() == static_cast<int64_t>(first + 7));
    CHECK(off_by(session.append(ids[behind + 3]), expected, behind + 3) < 2e-5);
  }
}

TEST_CASE("a device that runs ahead counts on behind pictures", "[seeing][device][one_driver]") {
  // So many tokens that it does.
  const auto likeliest = [](Backend& backend) {
    Seer seer(backend, "qwen2_5_vl", {.capacity = 200, .choices = 1});
    const std::string text = Recorded("qwen2_5_vl").file.metadata().at("text");
    GenerationSession session(seer.generator);
    std::vector<float> logits = session.begin(seer.sight.encoded(text, seer.both()));
    std::vector<int32_t> tokens;
    while (tokens.size() < 50) {
      const auto choices = seer.generator.choices();
      tokens.push_back(choices.empty() ? static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin())
                                       : choices[0]);
      logits = session.append(tokens.back());
    }
    CHECK((backend.facts().is_cpu() || seer.generator.ahead().used > 0));
    return tokens;
  };
  CHECK(likeliest(*make_backend("", {.as_gpu = true})) == likeliest(*make_reference_backend()));
}

TEST_CASE("texts side by side count as their own pictures do", "[seeing]") {
  const auto backend = make_reference_backend();
  const Recorded recorded("qwen2_5_vl");
  const std::vector<float> expected = recorded.floats("logits");
  Seer seer(*backend, "qwen2_5_vl", {.capacity = 8});
  const std::vector<int32_t> ids = seer.sight.encoded(recorded.file.metadata().at("text"), seer.both());
  auto store = make_model_store(*backend, seer.model);
  load_parameters(*store, seer.model.parameters, seer.folder);
  SessionGroup group(*backend, seer.model, store, {.rows = 2, .capacity = 160});
  for (size_t i = 0; i < 2; ++i) seer.sight.open(group.generator(i));
  const size_t text = 10, pictured = ids.size() - 3;
  group.session(0).begin(std::span(ids).first(text));
  group.session(1).begin(std::span(ids).first(pictured));
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<SessionGroup::Next> next{{0, ids[text + i]}, {1, ids[pictured + i]}};
    const std::vector<float> logits = group.append(next, true);
    const auto half = static_cast<std::ptrdiff_t>(logits.size() / 2);
    CHECK(off_by({logits.begin(), logits.begin() + half}, expected, text + i) < 2e-5);
    CHECK(off_by({logits.begin() + half, logits.end()}, expected, pictured + i) < 2e-5);
  }
}

TEST_CASE("pictures keep their size but for whole multiples", "[seeing]") {
  // As transformers' smart_resize has it.
  using Size = std::pair<int64_t, int64_t>;
  CHECK(fitted_size(23, 37, {8, 64, 1000}) == Size{24, 40});
  CHECK(fitted_size(70, 42, {28, 3136, 12845056}) == Size{56, 56});  // 2.5 and 1.5 multiples
  CHECK(fitted_size(1, 100, {28, 3136, 1003520}) == Size{28, 560});
  CHECK(fitted_size(3000, 4000, {28, 3136, 1003520}) == Size{840, 1148});
  CHECK(fitted_size(20, 20, {28, 3136, 1003520}) == Size{56, 56});
  CHECK(fitted_size(4000, 21, {32, 65536, 100000}) == Size{4352, 32});
  CHECK(fitted_size(98, 154, {28, 3136, 1003520}) == Size{112, 168});
  CHECK_THAT(error_of([] { fitted_size(1, 201, {}); }), ContainsSubstring("more than 200 times as long as wide"));
}

TEST_CASE("Pixtral's pictures become smaller alone, and reach up to multiples", "[seeing]") {
  // As transformers' get_resize_output_image_size has it.
  using Size = std::pair<int64_t, int64_t>;
  const auto size = [](int64_t height, int64_t width) { return fitted_size(height, width, {16, 0, 0, 1024}); };
  CHECK(size(23, 37) == Size{32, 48});
  CHECK(size(16, 1024) == Size{16, 1024});
  CHECK(size(767, 1025) == Size{768, 1024});  // 766.3 and 1024
  CHECK(size(3000, 4000) == Size{768, 1024});
  CHECK(size(1000, 3000) == Size{352, 1024});  // 341.3 and 1024
  CHECK_THAT(error_of([&] { size(1, 1025); }), ContainsSubstring("too thin"));
}

TEST_CASE("older and newer configs of Qwen's models that see mean the same", "[seeing]") {
  for (const char* name : {"qwen2_5_vl", "qwen2_vl"}) {
    const JsonObject config = JsonObject::load(seeing / name / "config.json");
    const JsonObject older = JsonObject::make(flat(config.value()), "config.json");
    const Model model = make_model(config), same = make_model(older);
    CHECK(model.family == "qwen2");
    CHECK(same.angles({3, 7, 5}) == model.angles({3, 7, 5}));
    CHECK(model.angles({3, 7, 5}) != model.angles({3, 3, 3}));
    CHECK(same.config->at("rope_parameters").dump() == model.config->at("rope_parameters").dump());
    CHECK(!same.config->contains("rope_scaling"));
    CHECK(make_eyes(older).any_size->factor == 8);
  }
}

TEST_CASE("configs of Qwen's models that see are looked at", "[seeing]") {
  const json config = JsonObject::load(seeing / "qwen2_5_vl" / "config.json").value();
  const auto error = [](const json& base, const json& changes) {
    json changed = base;
    changed.merge_patch(changes);
    return error_of([&] { make_eyes(JsonObject::make(changed, "config.json")); });
  };
  CHECK(error(config, json::object()).empty());
  const auto vision = [](const json& changes) { return json{{"vision_config", changes}}; };
  const auto rope = [](const json& changes) { return json{{"text_config", {{"rope_parameters", changes}}}}; };
  CHECK_THAT(error(config, rope({{"mrope_section", {1, 2, 2}}})), ContainsSubstring("mrope_section has 5 pairs"));
  CHECK_THAT(error(config, rope({{"mrope_section", {3, 3}}})), ContainsSubstring("three numbers"));
  CHECK_THAT(error(config, rope({{"mrope_section", nullptr}})), ContainsSubstring("have no mrope_section"));
  CHECK_THAT(error(config, vision({{"out_hidden_size", 32}})), ContainsSubstring("eyes give 32 columns"));
  CHECK_THAT(error(config, vision({{"window_size", 7}})), ContainsSubstring("window_size 7"));
  CHECK_THAT(error(config, vision({{"fullatt_block_indexes", {2}}})), ContainsSubstring("fullatt_block_indexes"));
  CHECK_THAT(error(config, vision({{"num_heads", 8}})), ContainsSubstring("multiples of 4"));
  const json third = JsonObject::load(seeing / "qwen3_vl" / "config.json").value();
  CHECK_THAT(error(third, vision({{"num_position_embeddings", 15}})), ContainsSubstring("no square"));
  CHECK_THAT(error(third, vision({{"deepstack_visual_indexes", {1, 0}}})), ContainsSubstring("in order"));
}
