// `train --pictures`: pictures and their labels teach a model that sees.

#include "models/classification/classifier.h"
#include "models/data/labelled_rows.h"
#include "models/data/picture_data.h"
#include "models/families/registry.h"
#include "models/families/vision/vision.h"
#include "models/model_folder.h"
#include "models/score/label_baselines.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/encoder_job.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/label_score.h"
#include "tools/cli/output.h"
#include "tools/cli/picture_input.h"

namespace vkformer {

namespace {

constexpr const char* processor_files[] = {"preprocessor_config.json", "processor_config.json"};

PictureExamples examples_of(const LabelledRows& rows, std::vector<int32_t> classes) {
  PictureExamples examples{.files = {}, .classes = std::move(classes)};
  for (const LabelledRow& row : rows.rows) examples.files.emplace_back(row.first);
  return examples;
}

/// Where a new model has no folder that says how pictures are prepared: as ViT's.
ImageSettings usual_settings(const PictureShape& picture) {
  constexpr std::array middle{0.5F, 0.5F, 0.5F};
  return {.size = ImageSettings::Size{picture.height, picture.width},
          .resample = Resample::bilinear,
          .rescale = 1.0 / 255,
          .mean = middle,
          .deviation = middle};
}
nlohmann::json json_of(const ImageSettings& settings) {
  return {{"image_processor_type", "ViTImageProcessor"},
          {"do_resize", true},
          {"size", {{"height", settings.size->height}, {"width", settings.size->width}}},
          {"resample", static_cast<int>(settings.resample)},
          {"do_rescale", true},
          {"rescale_factor", *settings.rescale},
          {"do_normalize", true},
          {"image_mean", *settings.mean},
          {"image_std", *settings.deviation}};
}

/// The folder that says how pictures are prepared; of a new model none.
std::filesystem::path processor_folder(const TrainFlags& flags, const std::filesystem::path& checkpoint) {
  if (!checkpoint.empty() || flags.from.empty()) return checkpoint;
  return resolve_model_folder(flags.from);
}

}  // namespace

TrainJob pictures_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const auto rows_of = [](const RunFile& file) { return read_labelled_pictures(file.content, file.path); };
  const LabelledRows training = rows_of(*find_file(files, "pictures"));
  const RunFile* validated = find_file(files, "valid pictures");
  const LabelledRows validation = validated ? rows_of(*validated) : LabelledRows();
  const std::filesystem::path folder = processor_folder(flags, checkpoint);
  const std::vector<std::string> names = checkpoint.empty() ? label_names(training) : classes_of_run(flags, checkpoint);
  const JobHead head{.architecture = "ImageClassification", .classes = names, .own = {"classifier"}, .shared = {}};
  nlohmann::json changes = nlohmann::json::object();
  if (!has_config(flags, checkpoint)) {
    changes = keys_of_head(first_config(flags), head);
    if (!folder.empty() && require_string(first_config(flags), "model_type") == "dinov2")
      settle_picture_size(changes, folder);
  }
  TrainJob job;
  // A folder's files decide the size of DINOv2's pictures, where a run's config does not.
  job.model = std::make_unique<Model>(has_config(flags, checkpoint) ? load_model(checkpoint)
                                                                    : model_of_job(flags, checkpoint, changes));
  if (flags.label_smoothing >= 0) job.model->label_smoothing = flags.label_smoothing;
  const Model& model = *job.model;
  if (!has_config(flags, checkpoint)) job.head = changes;
  if (!flags.from.empty()) begin_head_anew(*job.model, head, first_config(flags));
  check_trained_by("--pictures", model.sees() && classifies(model), model);
  const ImageSettings usual = usual_settings(model.picture);
  const ImageProcessor processor =
      folder.empty() ? ImageProcessor(usual, flags.config) : picture_processor(model, folder, folder.generic_string());
  job.write_text = [folder, usual](const std::filesystem::path& out) {
    if (folder.empty()) write_json(out / processor_files[0], json_of(usual));
    for (const char* name : processor_files)
      if (!folder.empty() && std::filesystem::exists(folder / name)) copy_file_atomically(folder / name, out / name);
  };
  set_context(flags, model);
  if (!flags.resume && !flags.given.contains("--batch")) flags.batch = head.rows;
  const std::vector<int32_t> classes = classes_of_rows(training, names),
                             valid_classes = classes_of_rows(validation, names);
  job.summary = fmt::format("{}, {}", counted(std::ssize(classes), "picture"), counted(std::ssize(names), "label"));
  if (validated)
    job.summary +=
        fmt::format(", {} for validation\nto beat in validation: majority {:.1f} %",
                    counted(std::ssize(valid_classes), "picture"), 100 * majority_accuracy(classes, valid_classes));
  auto data = std::make_unique<PictureData>(
      examples_of(training, classes), examples_of(validation, valid_classes), processor,
      PictureData::Settings{.rows = flags.batch, .seed = flags.settings.seed, .picture = model.picture});
  if (validated) job.scorer = std::make_unique<LabelScorer>(model, *data, names, flags.evaluation_batches);
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
