#include "tools/cli/draft_setup.h"

#include "runtime/check.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

void check_same_tokens(const PromptText& tokenizer, const PromptText& guessed, const std::string& given) {
  for (int32_t id = 0; id < std::min(tokenizer.size(), guessed.size()); ++id)
    check(tokenizer.piece(id) == guessed.piece(id),
          "--draft-model {}: token {} is {} there, and {} of the model that writes; a draft needs the same tokens",
          given, id, in_quotes(guessed.piece(id)), in_quotes(tokenizer.piece(id)));
}

}  // namespace

void refuse_drafts(const GenerateFlags& flags) {
  for (const char* flag : {"--draft-model", "--draft-lookup", "--draft-tokens"})
    if (flags.given.contains(flag))
      throw UsageError(fmt::format("{} is for texts that a decoder goes on with, without beams and --ids", flag));
}

DraftSetup::DraftSetup(const GenerateFlags& flags, const Model& model, const PromptText& tokenizer)
    : most_(static_cast<size_t>(flags.draft_tokens)),
      lookup_(flags.draft_lookup),
      cache_type_(cache_type(flags.cache_dtype)) {
  if (flags.draft_model.empty() && !lookup_) return;
  check(!model.recurrent,
        "a {} model keeps states, which can't go back to where a guess failed; leave out --draft-model and "
        "--draft-lookup",
        model.family);
  if (lookup_) return;
  const auto folder = resolve_model_folder(flags.draft_model);
  model_ = model_to_generate(folder, flags.dtype);
  check(model_->generates() && !model_->has_encoder() && !model_->recurrent,
        "--draft-model {}: a {} model can't draft; take a decoder without states", flags.draft_model, model_->family);
  check_same_tokens(tokenizer, PromptText(folder), flags.draft_model);
  weights_.emplace(model_->parameters, folder);
}

GeneratorShape DraftSetup::own_shape(const GeneratorShape& shape) const {
  const int64_t usable = shape.usable > 0 ? std::min(shape.usable, model_->vocabulary) : model_->vocabulary;
  return ModelDrafter::shape(shape.capacity, usable, cache_type_);
}

int64_t DraftSetup::bytes(const GeneratorShape& shape, const DeviceFacts& facts) const {
  return model_ ? generator_bytes(*model_, own_shape(shape), facts) : 0;
}

void DraftSetup::make(Backend& backend, const Generator& generator, bool quiet) {
  if (lookup_) drafter_ = std::make_unique<LookupDrafter>();
  if (!model_) return;
  const auto store = make_model_store(backend, *model_);
  auto drafter = std::make_unique<ModelDrafter>(backend, *model_, store, own_shape(generator.shape()));
  drafter->prepare();
  load_weights(*weights_, *store, quiet);
  drafter_ = std::move(drafter);
}

std::string guesses_text(const Speculation& speculation) {
  if (speculation.guessed() == 0) return "";
  return fmt::format("; {} of {} held", speculation.held(), counted(speculation.guessed(), "guessed token"));
}

}  // namespace vkformer
