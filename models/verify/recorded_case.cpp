#include "models/verify/recorded_case.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/images/patches.h"
#include "models/parameters.h"
#include "models/verify/verify_parts.h"
#include "models/weights.h"
#include "runtime/check.h"

namespace vkformer {

RecordedCase::RecordedCase(Backend& backend, const std::filesystem::path& folder,
                           const std::function<void(const VerifyRow&)>& report)
    : backend_(backend),
      folder_(folder),
      report_(report),
      case_(JsonObject::load(folder / "case.json")),
      tolerance_(require_object(case_, "tolerance")),
      expected_(folder / "expected.safetensors"),
      model_(load_model(folder)) {
  const JsonObject parameters = require_object(case_, "parameters");
  for (const auto& name : parameters.value().at("gradient_is_zero_in_theory"))
    zero_gradients_.insert(name.get<std::string>());
  // What gives vectors has no loss of its own: the case takes their numbers for logits.
  if (model_.task == Task::vector) model_.task = Task::classify;
  read_batch();
}

std::vector<float> RecordedCase::floats(const std::string& name) const { return read_floats(expected_, name); }
std::vector<int32_t> RecordedCase::ints(const std::string& name) const { return read_ints(expected_, name); }
double RecordedCase::limit(const char* key) const { return require_number(tolerance_, key, 0, 1); }

std::vector<float> read_frames(const SafetensorsFile& expected, const std::string& name, const Model& model) {
  const std::vector<int64_t>& shape = expected.require(name).shape;
  check(shape.size() == 3 && shape[1] == model.frame_columns && shape[2] % model.frames_per_position == 0,
        "{} is not [sources, {} columns, frames]", name, model.frame_columns);
  const std::vector<float> values = read_floats(expected, name);
  std::vector<float> frames(values.size());
  const auto columns = static_cast<size_t>(shape[1]), count = static_cast<size_t>(shape[2]);
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t source = i / (columns * count), column = i / count % columns, frame = i % count;
    frames[(source * count + frame) * columns + column] = values[i];
  }
  return frames;
}

Feed RecordedCase::feed() const {
  Feed feed(inputs_.begin(), inputs_.end());
  if (!frames_.empty()) feed.emplace_back("source", frames_);
  return feed;
}

/// Of a model that reads sound.
void RecordedCase::read_sound() {
  frames_ = read_frames(expected_, "input_features", model_);
  const auto sources = shape("input_features"), ids = shape("decoder_input_ids");
  check(ids.size() == 2 && ids[0] == sources[0], "decoder_input_ids does not fit input_features");
  batch_ = {.rows = ids[0], .positions = ids[1], .source_positions = sources[2] / model_.frames_per_position};
  add_input("ids", ints("decoder_input_ids"));
  check_feed(model_, batch_, feed());
  add_input("targets", targets());
}

/// Of a model that sees.
void RecordedCase::read_pictures() {
  const auto pictures = shape("pixel_values");
  check(pictures.size() == 4 && pictures[2] == model_.picture.height && pictures[3] == model_.picture.width,
        "pixel_values is not [batch, channels, {}, {}]", model_.picture.height, model_.picture.width);
  batch_ = {.rows = pictures[0], .positions = model_.picture.positions()};
  if (model_.reads_ids()) {
    const auto ids = shape("input_ids");
    check(ids.size() == 2 && ids[0] == pictures[0] && shape("attention_mask") == ids,
          "input_ids and attention_mask do not fit pixel_values");
    batch_.positions = ids[1];
    batch_.mask = true;
    add_input("ids", ints("input_ids"));
    add_input("mask", ints("attention_mask"));
    check_feed(model_, batch_, feed());
  }
  const std::vector<float> pixels = floats("pixel_values");
  const size_t each = pixels.size() / static_cast<size_t>(batch_.rows);
  for (size_t first = 0; first < pixels.size(); first += each) {
    const std::vector<float> rows = patches_of(std::span(pixels).subspan(first, each), model_.picture);
    frames_.insert(frames_.end(), rows.begin(), rows.end());
  }
  if (model_.task != Task::match) add_input("targets", targets());
}

void RecordedCase::read_batch() {
  if (model_.frame_columns > 0) return read_sound();
  if (model_.sees()) return read_pictures();
  const auto ids = shape("input_ids");
  check(ids.size() == 2, "input_ids has {} dimensions, 2 are needed", ids.size());
  check(shape("attention_mask") == ids, "attention_mask has not the shape of input_ids");
  const RowMask mask = ints("attention_mask");
  batch_.rows = ids[0];
  batch_.mask = std::find(mask.begin(), mask.end(), 0) != mask.end();
  if (model_.has_encoder()) {
    const auto decoder = shape("decoder_input_ids");
    check(decoder.size() == 2 && decoder[0] == ids[0], "decoder_input_ids does not fit input_ids");
    batch_.positions = decoder[1];
    batch_.source_positions = ids[1];
    add_input("ids", ints("decoder_input_ids"));
    add_input("source", ints("input_ids"));
    source_mask_ = mask;
  } else {
    batch_.positions = ids[1];
    add_input("ids", ints("input_ids"));
    mask_ = mask;
  }
  if (has("target_mapping")) {
    TwoStreams streams = read_two_streams(expected_, "");
    batch_.predictions = streams.predictions;
    batch_.mask = false;  // padding is part of the order
    mask_ = {};
    add_input("order", std::move(streams.order));
    add_input("predicted", std::move(streams.predicted));
  }
  if (batch_.mask) add_input(model_.has_encoder() ? "source_mask" : "mask", mask);
  batch_.segments = has("token_type_ids");
  if (batch_.segments) add_input("segments", ints("token_type_ids"));
  check_feed(model_, batch_, feed());
  add_input("targets", targets());
}

/// Labels at the positions whose logits they are compared with: causal models record the ids themselves, answers their
/// starts and ends apart.
std::vector<int32_t> RecordedCase::targets() const {
  if (model_.task == Task::answer) {
    std::vector<int32_t> both;
    const std::vector<int32_t> starts = ints("start_positions"), ends = ints("end_positions");
    check(starts.size() == ends.size(), "end_positions has not the shape of start_positions");
    for (size_t row = 0; row < starts.size(); ++row) both.insert(both.end(), {starts[row], ends[row]});
    return both;
  }
  std::vector<int32_t> labels = ints("labels");
  if (model_.task != Task::causal) return labels;
  check(shape("labels") == shape("input_ids"), "labels has not the shape of input_ids");
  const auto positions = static_cast<size_t>(batch_.positions);
  for (size_t row = 0; row < labels.size(); row += positions) {
    std::copy(labels.begin() + static_cast<std::ptrdiff_t>(row + 1),
              labels.begin() + static_cast<std::ptrdiff_t>(row + positions),
              labels.begin() + static_cast<std::ptrdiff_t>(row));
    labels[row + positions - 1] = -100;
  }
  return labels;
}

void RecordedCase::compare(const std::string& name, std::span<const float> got, double tolerance, const RowMask& mask,
                           double largest) const {
  const std::vector<float> want = floats(name);
  VerifyRow row{.tensor = name, .tolerance = tolerance, .how = "of the largest", .note = {}};
  if (want.size() != got.size() || (!mask.empty() && want.size() % mask.size() != 0)) {
    row.note = fmt::format("{} elements expected, the model gives {}", want.size(), got.size());
    report_(row);
    return;
  }
  const size_t columns = mask.empty() ? 1 : want.size() / mask.size();
  LargestError error{.largest = largest};
  for (size_t i = 0; i < want.size(); ++i)
    if (mask.empty() || mask[i / columns] != 0) error.add(static_cast<double>(got[i]), static_cast<double>(want[i]));
  row.error = error.relative();
  row.verdict = verdict(row.error <= tolerance);
  report_(row);
}

void RecordedCase::compare_relative(const std::string& name, double got, double want, double tolerance,
                                    double absolute) const {
  const double error = std::abs(got - want) / std::abs(want);
  report_({.tensor = name,
           .error = error,
           .tolerance = tolerance,
           .how = "relative",
           .verdict = verdict(error <= tolerance || std::abs(got - want) <= absolute),
           .note = {}});
}

std::shared_ptr<Store> RecordedCase::load() const {
  auto store = make_model_store(backend_, model_);
  load_parameters(*store, model_.parameters, folder_);
  return store;
}

}  // namespace vkformer
