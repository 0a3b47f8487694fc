#include "models/generation/prepared_search.h"

#include <algorithm>
#include <numeric>

#include "runtime/check.h"

namespace vkformer {

namespace {

/// Positions of a model that sets no limit. More would mean a slip of the pen; memory refuses most of them earlier.
constexpr int64_t unlimited_positions = int64_t{1} << 20;

/// Most tokens to generate, so that they and the prompt have positions.
int64_t fitting_tokens(const Model& model, const GenerationConfig& config, int64_t prompt) {
  const int64_t context = model.context > 0 ? model.context : unlimited_positions;
  check(prompt < context, "the prompt has {} tokens, the model {} positions; shorten it", prompt, context);
  const int64_t most = config.most_new_tokens(prompt), fitting = context - prompt;
  check(!config.max_new_tokens || most <= fitting,
        "{} new tokens were asked for, after the prompt's {} the model has positions for {}", most, prompt, fitting);
  return std::min(most, fitting);
}

/// Of rows and prompts that `prepared` has.
void add_search(PreparedSearch& prepared, const Model& model, GenerationConfig config,
                std::vector<std::vector<int32_t>> prompts) {
  GeneratorShape& shape = prepared.shape;
  config.max_new_tokens = fitting_tokens(model, config, prepared.prompt);
  shape.capacity = prepared.prompt + *config.max_new_tokens;
  shape.log_probabilities = config.num_beams > 1;
  prepared.search = make_search(config, std::move(prompts), model.vocabulary);
  shape.choices = prepared.search->choices();
  shape.usable = prepared.search->usable();
}

}  // namespace

PreparedSearch prepare_search(const Model& model, GenerationConfig config, std::vector<std::vector<int32_t>> given,
                              int64_t source_positions) {
  check(model.generates(), "this {} model does not write text", model.family);
  check(model.frame_columns == 0, "this {} model reads sound, not text", model.family);
  check_prompts(given, model.input_vocabulary());
  PreparedSearch prepared;
  size_t longest = 0, shortest = SIZE_MAX;
  for (const auto& ids : given) {
    longest = std::max(longest, ids.size());
    shortest = std::min(shortest, ids.size());
  }
  const auto sources = static_cast<int64_t>(given.size());
  GeneratorShape& shape = prepared.shape;
  shape.rows = sources * config.rows();
  if (model.has_encoder()) {
    check(model.context == 0 || static_cast<int64_t>(longest) <= model.context,
          "the source has {} tokens, the model {} positions; shorten it", longest, model.context);
    longest = std::max(longest, static_cast<size_t>(source_positions));
    shape.sources = sources;
    shape.source_positions = static_cast<int64_t>(longest);
    for (auto& ids : given) {
      prepared.mask.insert(prepared.mask.end(), ids.size(), 1);
      prepared.mask.insert(prepared.mask.end(), longest - ids.size(), 0);
      ids.resize(longest, 0);
      prepared.sources.insert(prepared.sources.end(), ids.begin(), ids.end());
    }
    given.assign(given.size(), {config.decoder_start()});
    longest = 1;
  } else {
    shape.left_padded = shortest < longest;
  }
  prepared.prompt = static_cast<int64_t>(longest);
  add_search(prepared, model, std::move(config), std::move(given));
  return prepared;
}

PreparedSearch prepare_search(const Model& model, GenerationConfig config, std::vector<float> frames,
                              std::vector<std::vector<int32_t>> prompts) {
  check(model.frame_columns > 0, "this {} model reads no frames", model.family);
  check_prompts(prompts, model.vocabulary);
  const auto sources = static_cast<int64_t>(prompts.size());
  PreparedSearch prepared{.prompt = std::ssize(prompts.front()), .frames = std::move(frames)};
  const int64_t columns = sources * model.frames_per_position * model.frame_columns,
                positions = std::ssize(prepared.frames) / columns;
  check(positions * columns == std::ssize(prepared.frames),
        "{} values don't make {} sources of frames of {} columns, {} for each position", prepared.frames.size(),
        sources, model.frame_columns, model.frames_per_position);
  check(std::ranges::all_of(prompts, [&](const auto& ids) { return std::ssize(ids) == prepared.prompt; }),
        "prompts behind an encoder must be of one length");
  prepared.shape = {.rows = sources * config.rows(), .sources = sources, .source_positions = positions};
  add_search(prepared, model, std::move(config), std::move(prompts));
  return prepared;
}

void run_search(Generator& generator, PreparedSearch& prepared,
                const std::function<void(std::span<const float>)>& on_logits, const std::function<bool()>& goes_on) {
  Search& search = *prepared.search;
  if (!prepared.sources.empty()) generator.encode(prepared.sources, prepared.mask);
  if (!prepared.frames.empty()) generator.encode(prepared.frames);
  const auto longest = static_cast<size_t>(prepared.prompt);
  std::vector<int32_t> prompts, pads;
  for (int64_t row = 0; row < search.rows(); ++row) {
    const auto ids = search.ids(row);
    pads.push_back(static_cast<int32_t>(longest - ids.size()));
    prompts.insert(prompts.end(), longest - ids.size(), 0);
    prompts.insert(prompts.end(), ids.begin(), ids.end());
  }
  if (!prepared.shape.left_padded) pads.clear();
  std::vector<float> logits = generator.prefill(prompts, pads);
  generator.expect(search.expected());
  while (true) {
    if (on_logits) on_logits(logits);
    const SearchStep& step = search.advance(logits, generator.choices());
    if ((goes_on && !goes_on()) || search.done()) return;
    std::vector<int32_t> identity(step.parents.size());
    std::iota(identity.begin(), identity.end(), 0);
    if (step.parents != identity) generator.reorder(step.parents);
    logits = generator.decode(step.tokens);
  }
}

}  // namespace vkformer
