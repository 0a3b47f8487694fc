// `vkformer classify` of pictures: a label for each file.

#include "models/classification/candidate_claims.h"
#include "models/classification/classifier.h"
#include "models/embedding/embedder.h"
#include "models/embedding/pair_scale.h"
#include "models/families/config_keys.h"
#include "models/families/vision/two_towers.h"
#include "runtime/check.h"
#include "tools/cli/class_lines.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/picture_input.h"
#include "tools/cli/profile.h"
#include "tools/cli/text_vectors.h"

namespace vkformer {

namespace {

void check_flags(const ClassifyFlags& flags, const Model& model) {
  if (flags.text) throw UsageError("give either pictures or a text (-p), not both");
  if (flags.query) throw UsageError("--query is for rerankers of texts; embed has one for pictures");
  const bool towers = has_two_towers(model);
  check(towers || flags.candidates.empty(),
        "{} is a {} model, which has classes of its own alone; --candidates are for CLIP and SigLIP", flags.model,
        model.family);
  check(!towers || !flags.candidates.empty(), "{} has no classes of its own; name some: --candidates cat,dog",
        flags.model);
  check(towers || classifies(model), "{} is a {} model that gives no class of a picture; embed gives its vectors",
        flags.model, model.family);
  check(!flags.several || scores_pairs(model),
        "--multi-label: {} shares one probability among the candidates, as CLIP does; SigLIP gives each its own",
        flags.model);
}

}  // namespace

void classify_pictures(const ClassifyFlags& flags, const std::filesystem::path& folder) {
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  const ImageProcessor processor = picture_processor(model, folder, flags.model);
  check_flags(flags, model);
  const bool towers = has_two_towers(model);
  const Model seeing = towers ? picture_tower(model) : model, reading = towers ? text_tower(model) : Model();
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  const auto store = load_store(*backend, model, weights, flags.common.quiet, adapter.get());
  const auto workspace = backend->make_workspace();
  std::vector<std::vector<float>> vectors;
  std::optional<PairScale> scale;
  if (towers) {
    scale.emplace(model, *store);
    vectors = text_vectors(*backend, reading, folder, store, workspace,
                           claims_of(flags.hypothesis.value_or("This is a photo of {}."), flags.candidates));
  }
  const std::vector<std::string> names =
      towers ? flags.candidates : classes_of(JsonObject::make(*model.config, flags.model), 1);
  PictureLogits logits(*backend, seeing, store, workspace);
  TextsProgress progress("pictures", flags.common.quiet);
  see_files(logits, seeing, processor, flags.pictures, flags.batch_tokens, progress,
            [&](size_t file, const std::vector<float>& row) {
              std::vector<double> shares;
              if (towers) {
                std::vector<double> cosines;
                for (const auto& vector : vectors) cosines.push_back(similarity(of_length_one(row), vector));
                shares = scale->probabilities(cosines);
              } else {
                shares = model.task == Task::score ? sigmoids_of(row) : softmax_of(row);
              }
              progress.clear();
              print_classes(flags, "file", flags.pictures[file], shares, names);
            });
  report_profile(*backend, flags.common, logits.programs());
  progress.end(flags.pictures.size(), "picture");
}

}  // namespace vkformer
