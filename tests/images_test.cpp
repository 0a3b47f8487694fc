// Pictures against PIL and transformers (tests/huggingface/make_images.py).

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <cstring>

#include "models/images/image_file.h"
#include "models/images/image_processor.h"
#include "models/images/orientation.h"
#include "tests/file_helpers.h"
#include "tests/image_helpers.h"

using Catch::Matchers::ContainsSubstring;
using namespace vkformer;
using namespace vkformer::testing;

namespace {

std::string reading(const std::string& bytes) {
  return error_of([&] { read_image(std::as_bytes(std::span(bytes)), "a.file"); });
}

std::string processing(const std::string& settings) {
  const TemporaryFolder folder;
  put(folder / "preprocessor_config.json", settings);
  return error_of([&] { ImageProcessor::from_folder(folder.path()); });
}

/// The differences of numbers that should be rounded the same way.
double difference_of_pixels(const std::vector<float>& values, const std::vector<float>& expected) {
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    largest =
        std::max(largest, std::abs(static_cast<double>(values.at(i)) - expected[i]) / (1 + std::abs(expected[i])));
  return largest;
}

}  // namespace

TEST_CASE("files of pictures are read as PIL reads them", "[images]") {
  int files = 0;
  for (const TensorEntry& entry : recorded_images().tensors()) {
    if (!entry.name.starts_with("files.")) continue;
    const std::string name = entry.name.substr(6);
    INFO(name);
    const Image expected = recorded_image("read." + name);
    const Image image = read_image(entry.bytes, name);
    CHECK(image.width == expected.width);
    CHECK(image.height == expected.height);
    CHECK(image.rgb == expected.rgb);
    ++files;
  }
  CHECK(files == 29);
}

TEST_CASE("pictures are resized as by PIL, to the bit", "[images]") {
  const Image picture = recorded_image("picture");
  const char* filters[] = {"nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"};
  int sizes = 0;
  for (int filter = 0; filter < 6; ++filter)
    for (const TensorEntry& entry : recorded_images().tensors()) {
      if (!entry.name.starts_with(fmt::format("resized.{}.", filters[filter]))) continue;
      INFO(entry.name);
      const Image expected = recorded_image(entry.name);
      CHECK(resize(picture, expected.width, expected.height, static_cast<Resample>(filter)).rgb == expected.rgb);
      ++sizes;
    }
  CHECK(sizes == 30);
  CHECK_THAT(error_of([&] { resize(picture, 100'000, 100'000, Resample::box); }), ContainsSubstring("more than"));
  CHECK_THAT(error_of([&] {
               resize({1, 1'000'000, std::vector<uint8_t>(3'000'000)}, 1000, 1, Resample::box);
             }),
             ContainsSubstring("too much in one direction"));
}

TEST_CASE("pictures are prepared as by transformers' processors", "[images]") {
  const Image picture = recorded_image("picture");
  CHECK(recorded_images().metadata().size() == 7);
  for (const auto& [name, settings] : recorded_images().metadata()) {
    INFO(name);
    const TensorEntry& entry = recorded_images().require("prepared." + name);
    std::vector<float> expected(static_cast<size_t>(entry.elements()));
    recorded_images().read_floats(entry, expected);
    for (const bool newer : {false, true}) {
      const TemporaryFolder folder;
      put(folder / (newer ? "processor_config.json" : "preprocessor_config.json"),
          newer ? "{\"image_processor\": " + settings + "}" : settings);
      const ImageProcessor processor = ImageProcessor::from_folder(folder.path());
      CHECK(entry.shape == std::vector<int64_t>{3, processor.height(), processor.width()});
      const std::vector<float> pixels = processor.pixels(picture);
      REQUIRE(pixels.size() == expected.size());
      CHECK(difference_of_pixels(pixels, expected) < 1e-7);
    }
  }
}

TEST_CASE("small pictures are one tile", "[images]") {
  const Image picture = recorded_image("picture");
  const TiledImage split = tiles_of(picture, {.longest_edge = 80, .edge = 20}, Resample::lanczos);
  CHECK(split.rows == 3);
  CHECK(split.columns == 4);
  CHECK(split.tiles.size() == 13);
  for (const TileSettings& settings :
       {TileSettings{.longest_edge = 20, .edge = 20}, TileSettings{.longest_edge = 80, .edge = 20, .split = false}}) {
    const TiledImage whole = tiles_of(picture, settings, Resample::lanczos);
    CHECK(whole.rows == 0);
    REQUIRE(whole.tiles.size() == 1);
    CHECK(whole.tiles[0].width == 20);
    CHECK(whole.tiles[0].height == 20);
  }
  CHECK_THAT(error_of([&] { tiles_of(picture, {.longest_edge = 4096, .edge = 16}, Resample::box); }),
             ContainsSubstring("tiles, more than 1024"));
}

TEST_CASE("processors of older folders are told by config.json", "[images]") {
  const TemporaryFolder folder;
  put(folder / "preprocessor_config.json", R"({"size": 12, "image_mean": [0, 0, 0]})");
  put(folder / "config.json", R"({"model_type": "clip"})");
  const ImageSettings clip = ImageProcessor::from_folder(folder.path()).settings();
  CHECK(clip.shortest_edge == 12);
  CHECK(clip.crop == ImageSettings::Size{224, 224});
  CHECK(clip.resample == Resample::bicubic);
  put(folder / "config.json", R"({"model_type": "llava"})");
  CHECK(ImageProcessor::from_folder(folder.path()).settings().shortest_edge == 12);
  put(folder / "config.json", R"({"model_type": "vit"})");
  const ImageSettings vit = ImageProcessor::from_folder(folder.path()).settings();
  CHECK(vit.size == ImageSettings::Size{12, 12});
  CHECK(!vit.crop);
  CHECK(vit.mean == std::array<float, 3>{0, 0, 0});
  put(folder / "config.json", R"({"model_type": "gpt2"})");
  CHECK_THAT(error_of([&] { ImageProcessor::from_folder(folder.path()); }), ContainsSubstring("\"gpt2\" is not known"));
}

TEST_CASE("what is no picture is refused with one clear line", "[images]") {
  CHECK_THAT(reading(""), ContainsSubstring("a.file: it is no JPEG, PNG or WebP picture"));
  CHECK_THAT(reading("GIF89a"), ContainsSubstring("it is no JPEG"));
  CHECK_THAT(reading("RIFF"), ContainsSubstring("it is no JPEG"));
  for (const std::string name : {"jpeg", "png", "webp"}) {
    const std::string good = recorded_bytes("files." + name);
    INFO(name);
    CHECK_THAT(reading(good.substr(0, good.size() - 20)), ContainsSubstring("a.file: it ends too early"));
    CHECK_THAT(reading(good.substr(0, 12)), ContainsSubstring("a.file: "));
    CHECK_THAT(error_of([&] { read_image(std::as_bytes(std::span(good)), "a.file", 100); }),
               ContainsSubstring("a.file: it has 19 x 13 pixels, more than 100"));
  }
  std::string damaged = recorded_bytes("files.png");
  damaged[60] ^= 1;
  CHECK_THAT(reading(damaged), ContainsSubstring("a.file: the file is damaged ("));
  CHECK_THAT(error_of([&] { read_image(std::filesystem::path("/no/such.png")); }), ContainsSubstring("/no/such.png"));
}

TEST_CASE("damaged EXIF says nothing", "[images]") {
  const std::string good("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0", 22);
  const auto orientation = [](const std::string& exif) { return exif_orientation(std::as_bytes(std::span(exif))); };
  CHECK(orientation(good) == 6);
  CHECK(orientation(std::string("Exif\0\0", 6) + good) == 6);
  CHECK(orientation("") == 1);
  CHECK(orientation(good.substr(0, 18)) == 1);
  CHECK(orientation("XX" + good.substr(2)) == 1);
  std::string other = good;
  other[19] = 9;
  CHECK(orientation(other) == 1);
  other[4] = '\xFF';  // the directory is far away
  CHECK(orientation(other) == 1);
}

TEST_CASE("settings of pictures that nothing can be made of are refused", "[images]") {
  CHECK_THAT(processing(R"({"image_processor_type": "SamImageProcessor"})"),
             ContainsSubstring("\"SamImageProcessor\""));
  CHECK_THAT(processing(R"({"image_processor_type": "CLIPImageProcessor", "do_center_crop": false})"),
             ContainsSubstring("pictures stay of different sizes"));
  CHECK_THAT(processing(R"({"image_processor_type": "CLIPImageProcessor", "do_pad": true})"),
             ContainsSubstring("do_pad"));
  CHECK_THAT(processing(R"({"image_processor_type": "ViTImageProcessor", "size": [3]})"),
             ContainsSubstring("size has 1"));
  CHECK_THAT(processing(R"({"image_processor_type": "ViTImageProcessor", "size": {"height": 3}})"),
             ContainsSubstring("\"width\" is missing"));
  CHECK_THAT(processing(R"({"image_processor_type": "ViTImageProcessor", "image_std": [1, 1, 0]})"),
             ContainsSubstring("image_std"));
  CHECK_THAT(error_of([&] { ImageProcessor::from_folder("/no/folder"); }),
             ContainsSubstring("/no/folder: it has no preprocessor_config.json"));
  const ImageProcessor rigid({.crop = {{5, 5}}}, "settings");
  CHECK(rigid.pixels({2, 2, std::vector<uint8_t>(12, 7)}).at(2 * 5 + 2) == 7);
  const Image thin{100, 1, std::vector<uint8_t>(300)};
  CHECK_THAT(error_of([&] {
               ImageProcessor({.shortest_edge = 4096, .crop = {{5, 5}}}, "settings").pixels(thin);
             }),
             ContainsSubstring("more than"));
}
