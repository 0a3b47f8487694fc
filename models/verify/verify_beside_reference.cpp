#include <algorithm>

#include "models/families/registry.h"
#include "models/generation/generation.h"
#include "models/model_files.h"
#include "models/stored_weights.h"
#include "models/verify/verify_parts.h"
#include "models/weights.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

/// As recorded models have it, of the largest logit.
constexpr double tolerance = 2e-4;
constexpr int64_t prompt_length = 16, step_count = 4;

/// The same for every model of a vocabulary: a walk over it in steps of a share of it that no small number divides.
std::vector<int32_t> some_ids(const Model& model, int64_t count) {
  std::vector<int32_t> ids;
  for (int64_t i = 1; i <= count; ++i) ids.push_back(static_cast<int32_t>(i * 7919 % model.vocabulary));
  return ids;
}

/// So many of a source of frames or of patches, between -1 and 1.
std::vector<float> some_frames(int64_t values) {
  std::vector<float> frames;
  for (int64_t i = 1; i <= values; ++i) frames.push_back(static_cast<float>(i * 7919 % 2001) / 1000 - 1);
  return frames;
}

/// Logits of a model, in the order of `names`.
struct NamedLogits {
  std::vector<std::string> names;
  std::vector<std::vector<float>> logits;
};

NamedLogits write_text(Backend& backend, const Model& model, const Weights& weights, DType cache_type) {
  GeneratorShape shape{.capacity = prompt_length + step_count, .cache_type = cache_type};
  if (model.context > 0) shape.capacity = std::min(shape.capacity, model.context);
  if (model.has_encoder())
    shape.source_positions = std::min(prompt_length, model.source_limit() > 0 ? model.source_limit() : shape.capacity);
  check(shape.capacity > step_count, "{}: a context of {} positions is too short to try", weights.files().name(),
        shape.capacity);
  Generator generator(backend, model, shape);
  weights.load(generator.store());
  if (model.frame_columns > 0)
    generator.encode(some_frames(model.source_type(1, shape.source_positions).elements()));
  else if (model.has_encoder())
    generator.encode(some_ids(model, shape.source_positions));
  const std::vector<int32_t> ids = some_ids(model, shape.capacity);
  const std::span prompt = std::span(ids).first(ids.size() - static_cast<size_t>(step_count));
  NamedLogits outputs;
  outputs.names.push_back(fmt::format("logits after a prompt of {}", prompt.size()));
  outputs.logits.push_back(generator.prefill(prompt));
  for (size_t i = prompt.size(); i < ids.size(); ++i) {
    outputs.names.push_back(fmt::format("logits after token {}", i + 1));
    outputs.logits.push_back(generator.decode(ids[i]));
  }
  return outputs;
}

NamedLogits classify(Backend& backend, const Model& model, const Weights& weights) {
  BatchShape shape{.positions = model.context > 0 ? std::min(prompt_length, model.context) : prompt_length};
  if (model.fill >= 0 || !model.reads_ids()) shape.positions = model.context;
  Graph graph;
  graph.mark_output(add_logits(graph, model, add_inputs(graph, model, shape)), "logits");
  graph = with_stored_types(std::move(graph), model);
  const auto store = make_model_store(backend, model);
  weights.load(*store);
  const auto program = backend.compile(std::move(graph), store);
  if (model.reads_ids()) program->write("ids", some_ids(model, shape.positions));
  const PictureShape& picture = model.picture;
  if (model.sees()) program->write("source", some_frames(picture.positions() * picture.columns()));
  program->run();
  const char* what = model.reads_ids() ? model.sees() ? "ids and a picture" : "ids" : "patches";
  return {{fmt::format("logits of {} {}", shape.positions, what)}, {program->read("logits")}};
}

}  // namespace

void verify_beside_reference(Backend& backend, const std::filesystem::path& file,
                             const std::function<void(const VerifyRow&)>& report) {
  try {
    Model model = load_model(file);
    if (stays_as_filed(file)) store_weights_as(model, Weights(model.parameters, file));
    const Weights weights(model.parameters, file);
    const auto run = [&](Backend& on) {
      return model.generates() ? write_text(on, model, weights, usual_cache_type(model, backend.facts()))
                               : classify(on, model, weights);
    };
    const NamedLogits got = run(backend), want = run(*make_reference_backend());
    for (size_t i = 0; i < want.names.size(); ++i) {
      LargestError error;
      for (size_t j = 0; j < want.logits[i].size(); ++j)
        error.add(static_cast<double>(got.logits[i][j]), static_cast<double>(want.logits[i][j]));
      report({.tensor = want.names[i],
              .error = error.relative(),
              .tolerance = tolerance,
              .how = "of the largest",
              .verdict = verdict(error.relative() <= tolerance),
              .note = "beside the reference"});
    }
  } catch (const std::exception& error) {
    report({.tensor = "(model)", .how = "", .verdict = VerifyRow::Verdict::failed, .note = error.what()});
  }
}

}  // namespace vkformer
