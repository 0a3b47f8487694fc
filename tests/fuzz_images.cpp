// Damaged files of pictures and settings of processors: each is read or refused with one clear line; run it in the asan
// build.

#include <catch2/catch_test_macros.hpp>
#include <cmath>

#include "models/images/image_file.h"
#include "models/images/image_processor.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"
#include "tests/image_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

TEST_CASE("damaged files of pictures are refused", "[fuzz][images]") {
  Mutator mutator(22);
  Tally tally;
  for (const TensorEntry& entry : recorded_images().tensors()) {
    if (!entry.name.starts_with("files.")) continue;
    const std::string good = recorded_bytes(entry.name);
    for (int i = 0; i < tries(40); ++i)
      attempt(tally, [&] {
        const std::string bytes = mutator.bytes(good);
        const std::vector<char> exact(bytes.begin(), bytes.end());  // of its own, so that reads past the end are seen
        const Image image = read_image(std::as_bytes(std::span(exact)), "fuzz", 1 << 20);
        if (std::ssize(image.rgb) != 3 * image.width * image.height) FAIL("other pixels than it says");
      });
  }
  CHECK(tally.read > 10);
  CHECK(tally.refused > 10);
}

TEST_CASE("damaged settings of pictures are refused", "[fuzz][images]") {
  Mutator mutator(23);
  Tally tally;
  const TemporaryFolder folder;
  const Image picture = recorded_image("picture");
  for (const auto& [name, settings] : recorded_images().metadata())
    for (int i = 0; i < tries(60); ++i) {
      put(folder / "preprocessor_config.json", mutator.values(json::parse(settings)));
      attempt(tally, [&] {
        const ImageProcessor processor = ImageProcessor::from_folder(folder.path());
        if (processor.height() * processor.width() > 1 << 20) return;  // takes long
        if (std::ssize(processor.pixels(picture)) != 3 * processor.height() * processor.width())
          FAIL("other pixels than it says");
      });
    }
  CHECK(tally.read > 10);
  CHECK(tally.refused > 10);
}
