// Models that see: how pictures are cut, positions of other sizes, and what configs may say.

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "models/adapters/lora.h"
#include "models/data/labelled_rows.h"
#include "models/data/shapes.h"
#include "models/data/token_texts.h"
#include "models/embedding/pair_scale.h"
#include "models/families/registry.h"
#include "models/families/vision/position_grid.h"
#include "models/families/vision/two_towers.h"
#include "models/images/image_file.h"
#include "models/images/image_writer.h"
#include "models/images/patches.h"
#include "runtime/check.h"
#include "tests/file_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

nlohmann::json tiny_vit() {
  return {{"model_type", "vit"},      {"architectures", {"ViTForImageClassification"}},
          {"hidden_size", 12},        {"num_hidden_layers", 1},
          {"num_attention_heads", 3}, {"intermediate_size", 8},
          {"image_size", 6},          {"patch_size", 2},
          {"num_labels", 3}};
}

Model made(const nlohmann::json& config) { return make_model(JsonObject::make(config, "config.json")); }

Model changed(const char* key, const nlohmann::json& value) {
  nlohmann::json config = tiny_vit();
  config[key] = value;
  return made(config);
}

}  // namespace

TEST_CASE("a picture's patches lie as a convolution's weight does", "[pictures]") {
  const PictureShape shape{.height = 5, .width = 7, .patch = 2, .front = 1};
  CHECK(shape.positions() == 7);
  std::vector<float> pixels(3 * 5 * 7);
  std::iota(pixels.begin(), pixels.end(), 0.0F);
  const std::vector<float> rows = patches_of(pixels, shape);
  REQUIRE(rows.size() == 7 * 12);
  CHECK(std::ranges::all_of(std::span(rows).first(12), [](float value) { return value == 0; }));
  // Patch (1, 2): rows 2 and 3, columns 4 and 5 of each channel; the last row and column are left out.
  const std::vector<float> last(rows.end() - 12, rows.end());
  CHECK(last == std::vector<float>{18, 19, 25, 26, 53, 54, 60, 61, 88, 89, 95, 96});
  CHECK_THAT(error_of([&] { patches_of(std::span(pixels).first(100), shape); }), ContainsSubstring("3 x 5 x 7"));
}

TEST_CASE("positions of a grid are weighed rows of another", "[pictures]") {
  const std::vector<float> same = position_weights(1, 3, 3, 3);
  for (size_t i = 0; i < same.size(); ++i) CHECK(same[i] == (i / 10 == i % 10 ? 1.0F : 0.0F));
  const std::vector<float> other = position_weights(2, 5, 3, 4);
  REQUIRE(other.size() == 14 * 27);
  for (size_t row = 0; row < 14; ++row) {
    const std::span weights = std::span(other).subspan(row * 27, 27);
    CHECK(std::abs(std::accumulate(weights.begin(), weights.end(), 0.0) - 1) < 1e-6);
    if (row >= 2) CHECK((weights[0] == 0 && weights[1] == 0));
  }
}

TEST_CASE("a model that sees has its pictures' size", "[pictures]") {
  const Model model = made(tiny_vit());
  CHECK(model.sees());
  CHECK(!model.reads_ids());
  CHECK(model.picture.positions() == 10);
  Graph graph;
  const Pass pass = add_inputs(graph, model, {.rows = 4});
  CHECK(graph.shape(pass.source) == Shape{4, 10, 12});
  CHECK(!pass.ids);
  CHECK_THAT(error_of([&] {
               Graph other;
               add_inputs(other, model, {.rows = 4, .mask = true});
             }),
             ContainsSubstring("sees pictures"));
  CHECK(changed("image_size", {4, 7}).picture.positions() == 7);
}

TEST_CASE("what a config of a model that sees can't say is refused", "[pictures]") {
  const auto refused = [](const char* key, const nlohmann::json& value) {
    return error_of([&] { changed(key, value); });
  };
  CHECK_THAT(refused("patch_size", {2, 3}), ContainsSubstring("patch_size 2 x 3"));
  CHECK_THAT(refused("patch_size", 8), ContainsSubstring("has no patch"));
  CHECK_THAT(refused("image_size", {6, 6, 6}), ContainsSubstring("a height and a width"));
  CHECK_THAT(refused("num_channels", 1), ContainsSubstring("num_channels 1"));
  CHECK_THAT(refused("num_attention_heads", 5), ContainsSubstring("not a multiple"));
  CHECK_THAT(refused("architectures", nlohmann::json::array({"ViTForMaskedImageModeling"})),
             ContainsSubstring("ViTForMaskedImageModeling"));
}

TEST_CASE("a text is filled up with what counts", "[pictures]") {
  TokenTexts texts{.ids = {{5, 6}, {7}}, .segments = {{0, 0}, {0}}};
  texts.fill_last(1, 3);
  CHECK(texts.ids == std::vector<std::vector<int32_t>>{{5, 6}, {7, 1, 1}});
  CHECK(texts.segments.back().size() == 3);
}

TEST_CASE("a tower has its own parameters, stored as the whole's", "[pictures]") {
  Model whole = load_model(std::filesystem::path(VKFORMER_FIXTURES) / "siglip");
  for (ParameterSpec& parameter : whole.parameters) parameter.dtype = DType::f16;
  const Model pictures = picture_tower(whole), texts = text_tower(whole);
  CHECK(pictures.parameters.size() + texts.parameters.size() + 2 == whole.parameters.size());
  CHECK(pictures.parameters.front().dtype == DType::f16);
  CHECK(texts.fill == 1);
  CHECK(scores_pairs(whole));
  CHECK_THAT(error_of([&] { picture_tower(pictures); }), ContainsSubstring("two towers"));
  whole.adapter = std::make_shared<Adapter>();
  CHECK_THAT(error_of([&] { text_tower(whole); }), ContainsSubstring("--merge"));
}

TEST_CASE("a whole's config keeps what its towers do not know, and older keys count", "[pictures]") {
  nlohmann::json config = *load_model(std::filesystem::path(VKFORMER_FIXTURES) / "clip").config;
  CHECK(config.at("text_config").at("eos_token_id").get<int>() == 60);
  config["vision_config_dict"] = {{"intermediate_size", 5}};
  const Model changed_model = made(config);
  CHECK(changed_model.config->at("vision_config").at("intermediate_size").get<int>() == 5);
}

TEST_CASE("pictures of shapes follow from the seed and their number", "[pictures]") {
  const ShapePicture picture = draw_shape(1, 7);
  CHECK(picture.image.rgb == draw_shape(1, 7).image.rgb);
  CHECK(picture.image.rgb != draw_shape(2, 7).image.rgb);
  CHECK(picture.image.rgb.size() == 3 * shape_pixels * shape_pixels);
  std::vector<int> drawn(std::size(shape_names));
  for (uint64_t i = 0; i < 100; ++i) {
    const ShapePicture one = draw_shape(1, i);
    ++drawn[one.shape];
    // The ground, which no shape reaches at the edge, is dark.
    for (size_t at = 0; at < 3 * shape_pixels; ++at) CHECK(one.image.rgb[at] < 96 + 24);
  }
  CHECK(std::ranges::min(drawn) > 10);
}

TEST_CASE("rows of pictures name files beside them", "[pictures]") {
  const TemporaryFolder folder;
  write_png(folder.path() / "a.png", draw_shape(1, 0).image);
  CHECK(read_image(folder.path() / "a.png").rgb == draw_shape(1, 0).image.rgb);
  const std::string rows = (folder.path() / "rows.csv").generic_string();
  const LabelledRows read = read_labelled_pictures("label,image\ncat,a.png\n", rows);
  CHECK(read.rows.front().first == (folder.path() / "a.png").generic_string());
  CHECK(read.rows.front().label == "cat");
  CHECK_THAT(error_of([&] { read_labelled_pictures("label,image\ncat,b.png\n", rows); }),
             ContainsSubstring("rows.csv:2: there is no picture"));
  CHECK_THAT(error_of([&] { read_labelled_pictures("label,text\ncat,a.png\n", rows); }),
             ContainsSubstring("none of \"image\""));
}
