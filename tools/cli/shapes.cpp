// `vkformer data shapes`: small pictures of shapes, and what they show.

#include "models/data/shapes.h"

#include "models/images/image_writer.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/new_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// A part's pictures, then the rows that name them.
void write_pictures(const std::filesystem::path& folder, const char* name, uint64_t first, int64_t count,
                    uint32_t seed) {
  std::filesystem::create_directory(folder / name);
  std::string rows;
  for (int64_t i = 0; i < count; ++i) {
    const ShapePicture picture = draw_shape(seed, first + static_cast<uint64_t>(i));
    const std::string file = fmt::format("{}/{:06}.png", name, i);
    write_png(folder / file, picture.image);
    rows += fmt::format("{{\"image\": \"{}\", \"label\": \"{}\"}}\n", file, shape_names[picture.shape]);
  }
  write_file_atomically(folder / fmt::format("{}.jsonl", name), rows);
}

}  // namespace

void write_shapes(const ShapesFlags& flags) {
  const std::filesystem::path folder = flags.out;
  in_new_folder(folder, "writing pictures", [&] {
    write_pictures(folder, "train", 0, flags.train, flags.seed);
    write_pictures(folder, "valid", uint64_t{1} << 32, flags.valid, flags.seed);
    write_pictures(folder, "test", uint64_t{2} << 32, flags.test, flags.seed);
  });
  const auto rows = [&](const char* name) { return (folder / name).generic_string(); };
  print(
      "{} pictures to train on in {}, {} for validation in {}, {} for test in {}: vkformer train "
      "models/configs/tiny-vit.json --pictures {} --valid {} --out RUN\n",
      flags.train, rows("train.jsonl"), flags.valid, rows("valid.jsonl"), flags.test, rows("test.jsonl"),
      rows("train.jsonl"), rows("valid.jsonl"));
}

}  // namespace vkformer
