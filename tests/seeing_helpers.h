#pragma once
// Recorded models that see and write (tests/huggingface/make_seeing.py).

#include <cmath>

#include "models/generation/session.h"
#include "models/images/image_file.h"
#include "models/seeing/sight.h"
#include "models/weights.h"
#include "tests/file_helpers.h"
#include "tests/model_helpers.h"

namespace vkformer::testing {

inline const std::filesystem::path seeing = std::filesystem::path(VKFORMER_FIXTURES).parent_path() / "seeing";

struct Recorded {
  explicit Recorded(const std::string& name) : file(seeing / name / "expected.safetensors") {}
  SafetensorsFile file;
  std::vector<float> floats(const std::string& tensor) const {
    std::vector<float> values(static_cast<size_t>(file.require(tensor).elements()));
    file.read_floats(file.require(tensor), values);
    return values;
  }
  std::vector<int32_t> ids() const {
    std::vector<int32_t> values(static_cast<size_t>(file.require("input_ids").elements()));
    file.read_ints(file.require("input_ids"), values);
    return values;
  }
};

/// The largest difference, as a share of the largest value.
inline double share_of_largest(const std::vector<float>& values, const std::vector<float>& expected) {
  REQUIRE(values.size() == expected.size());
  double worst = 0, largest = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(values[i]) - expected[i]));
    largest = std::max(largest, std::abs(static_cast<double>(expected[i])));
  }
  return worst / largest;
}

/// A model that was loaded to write about pictures.
struct Seer {
  Seer(Backend& backend, const std::string& name, const GeneratorShape& shape = {})
      : Seer(backend, name, shape, seeing / name, {}) {}
  /// Of files that were made of that model.
  Seer(Backend& backend, const std::string& name, const GeneratorShape& shape, const std::filesystem::path& files,
       const std::filesystem::path& mmproj)
      : folder(seeing / name),
        model(load_model(files)),
        tokenizer(files),
        generator(backend, model, shape),
        sight(backend, files, model, tokenizer, "", mmproj) {
    load_parameters(generator.store(), model.parameters, files);
    sight.open(generator);
  }
  std::filesystem::path folder;
  Model model;
  PromptText tokenizer;
  Generator generator;
  Sight sight;

  std::vector<SeenPictures::Shown> both() {
    return {sight.show_file((folder / "first.png").generic_string()),
            sight.show_file((folder / "second.jpg").generic_string())};
  }
};

}  // namespace vkformer::testing
