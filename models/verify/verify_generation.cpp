#include <algorithm>
#include <cmath>

#include "models/generation/prepared_search.h"
#include "models/verify/recorded_case.h"
#include "models/verify/verify_parts.h"
#include "models/weights.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// One recorded generation: tensors PREFIX.input_ids, .attention_mask, .sequences, and .logits or .scores.
class RecordedGeneration {
 public:
  RecordedGeneration(Backend& backend, const std::filesystem::path& folder, const Model& model,
                     const JsonObject& recorded, const SafetensorsFile& expected, std::string prefix)
      : model_(model),
        tolerance_(require_object(recorded, "tolerance")),
        expected_(expected),
        prefix_(std::move(prefix)),
        config_(parse_generation_config(require_object(recorded, "generation"))),
        shape_(expected.require(name(model.frame_columns > 0 ? "input_features" : "input_ids")).shape),
        sequences_shape_(expected.require(name("sequences")).shape),
        want_(read_ints(expected, name("sequences"))) {
    const bool sound = model.frame_columns > 0;
    check((sound || (shape_.size() == 2 && expected.require(name("attention_mask")).shape == shape_)) &&
              sequences_shape_.size() == 2 && sequences_shape_[0] % shape_[0] == 0,
          "{}: prompts, masks and sequences don't fit together", prefix_);
    if (!sound) given_ = given();
    if (prefix_ != "beam") config_.num_beams = config_.num_return_sequences = 1;
    generate(backend, folder);
  }

  /// Ids of a greedy search, up to the end id.
  void compare_ids(const std::function<void(const VerifyRow&)>& report) const {
    const auto results = prepared_.search->results();
    int64_t wrong = 0;
    for (size_t row = 0; row < results.size(); ++row) {
      const std::vector<int32_t>& got = results[row][0].ids;
      const std::vector<int32_t> want = expected_ids(row);
      wrong += static_cast<int64_t>(std::max(got.size(), want.size()) - std::min(got.size(), want.size()));
      for (size_t i = 0; i < std::min(got.size(), want.size()); ++i) wrong += got[i] != want[i];
    }
    report({.tensor = name("sequences"),
            .error = static_cast<double>(wrong),
            .how = "wrong ids",
            .verdict = verdict(wrong == 0),
            .note = {}});
  }

  /// Logits of every step of every row that had not ended by then.
  void compare_logits(const std::function<void(const VerifyRow&)>& report) const {
    const std::vector<float> want = read_floats(expected_, name("logits"));
    const auto rows = static_cast<size_t>(shape_[0]), vocabulary = static_cast<size_t>(model_.vocabulary);
    const size_t steps = want.size() / (rows * vocabulary);
    VerifyRow row{.tensor = name("logits"),
                  .tolerance = require_number(tolerance_, "logits_relative_to_max", 0, 1),
                  .how = "of the largest",
                  .note = {}};
    LargestError error;
    for (size_t r = 0; r < rows; ++r) {
      const size_t generated = expected_ids(r).size() - (model_.has_encoder() ? 1 : given_[r].size());
      for (size_t step = 0; step < std::min(generated, steps); ++step)
        for (size_t v = 0; v < vocabulary; ++v)
          error.add(step < logits_.size() ? static_cast<double>(logits_[step][r * vocabulary + v]) : NAN,
                    static_cast<double>(want[(r * steps + step) * vocabulary + v]));
    }
    row.error = error.relative();
    row.verdict = verdict(row.error <= row.tolerance);
    report(row);
  }

  /// Hypotheses and their scores. After the first, those with scores closer than the tolerance may change places.
  void compare_beams(const std::function<void(const VerifyRow&)>& report) const {
    const auto results = prepared_.search->results();
    const std::vector<float> scores = read_floats(expected_, name("scores"));
    const double tolerance = require_number(tolerance_, "beam_score_absolute", 0, 1);
    const auto per_source = static_cast<size_t>(sequences_shape_[0] / shape_[0]);
    int64_t wrong = 0;
    double worst = 0;
    for (size_t source = 0; source < results.size(); ++source)
      for (size_t i = 0; i < per_source; ++i) {
        const size_t row = source * per_source + i;
        if (i >= results[source].size()) {
          ++wrong;
          continue;
        }
        const auto score = [&](size_t r) { return static_cast<double>(scores[r]); };
        bool found = false;
        for (size_t other = source * per_source; other < (source + 1) * per_source; ++other)
          found = found || (results[source][i].ids == expected_ids(other) &&
                            (other == row || (i > 0 && std::abs(score(other) - score(row)) < tolerance)));
        wrong += !found;
        const double error = std::abs(results[source][i].score - score(row));
        worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
      }
    report({.tensor = name("sequences"),
            .error = static_cast<double>(wrong),
            .how = "wrong hypotheses",
            .verdict = verdict(wrong == 0),
            .note = {}});
    report({.tensor = name("scores"),
            .error = worst,
            .tolerance = tolerance,
            .how = "absolute",
            .verdict = verdict(worst <= tolerance),
            .note = {}});
  }

 private:
  std::string name(const char* tensor) const { return prefix_ + "." + tensor; }

  /// Row `row` of the recorded sequences without the padding in front, up to the end id that follows the prompt.
  std::vector<int32_t> expected_ids(size_t row) const {
    const auto length = static_cast<size_t>(sequences_shape_[1]);
    const size_t prompt = model_.has_encoder() ? 1 : static_cast<size_t>(shape_[1]);
    std::vector<int32_t> ids;
    for (size_t i = model_.has_encoder() ? 0 : prompt - given_[row].size(); i < length; ++i) {
      ids.push_back(want_[row * length + i]);
      if (i >= prompt && config_.ends(ids.back())) break;
    }
    return ids;
  }

  /// The recorded prompts or sources without their padding.
  std::vector<std::vector<int32_t>> given() const {
    const std::vector<int32_t> ids = read_ints(expected_, name("input_ids"));
    const std::vector<int32_t> mask = read_ints(expected_, name("attention_mask"));
    std::vector<std::vector<int32_t>> rows(static_cast<size_t>(shape_[0]));
    for (size_t i = 0; i < ids.size(); ++i)
      if (mask[i] != 0) rows[i / static_cast<size_t>(shape_[1])].push_back(ids[i]);
    return rows;
  }

  void generate(Backend& backend, const std::filesystem::path& folder) {
    if (model_.frame_columns > 0)
      prepared_ = prepare_search(model_, config_, read_frames(expected_, name("input_features"), model_),
                                 {static_cast<size_t>(shape_[0]), {config_.decoder_start()}});
    else
      prepared_ = prepare_search(model_, config_, given_);
    prepared_.shape.choices = 0;  // all logits are compared
    Generator generator(backend, model_, prepared_.shape);
    load_parameters(generator.store(), model_.parameters, folder);
    run_search(generator, prepared_,
               [&](std::span<const float> logits) { logits_.emplace_back(logits.begin(), logits.end()); });
  }

  const Model& model_;
  JsonObject tolerance_;
  const SafetensorsFile& expected_;
  std::string prefix_;
  GenerationConfig config_;
  std::vector<int64_t> shape_, sequences_shape_;
  std::vector<int32_t> want_;
  std::vector<std::vector<int32_t>> given_;
  PreparedSearch prepared_;
  std::vector<std::vector<float>> logits_;  ///< of every step
};

}  // namespace

void verify_generation(Backend& backend, const std::filesystem::path& folder, const Model& model,
                       const JsonObject& recorded, const SafetensorsFile& expected,
                       const std::function<void(const VerifyRow&)>& report) {
  for (const char* prefix : {"greedy", "greedy_left_pad", "beam"}) {
    if (!expected.find(std::string(prefix) + ".sequences")) continue;
    const RecordedGeneration generation(backend, folder, model, recorded, expected, prefix);
    if (std::string(prefix) == "beam") {
      generation.compare_beams(report);
      continue;
    }
    generation.compare_ids(report);
    if (expected.find(std::string(prefix) + ".logits")) generation.compare_logits(report);
  }
}

}  // namespace vkformer
