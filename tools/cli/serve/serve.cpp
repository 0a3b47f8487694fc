// `vkformer serve`: a model behind OpenAI's API.

#include <nlohmann/json.hpp>

#include "models/adapters/adapter_head.h"
#include "models/chat/chat_files.h"
#include "models/families/config_keys.h"
#include "models/families/registry.h"
#include "models/model_files.h"
#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/serve/class_service.h"
#include "tools/cli/serve/embedding_service.h"
#include "tools/cli/serve/front.h"
#include "tools/cli/serve/speech_service.h"
#include "tools/cli/serve/text_service.h"
#include "tools/cli/speech_setup.h"
#include "tools/cli/text_vectors.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

/// Bytes of a request with audio: half an hour as a plain WAV file of 16 kHz, hours in other forms.
constexpr size_t most_audio = size_t{64} << 20;

std::string name_of(const ServeFlags& flags, const std::filesystem::path& folder) {
  if (!flags.name.empty()) return flags.name;
  const auto path = std::filesystem::absolute(flags.model).lexically_normal();
  const auto name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.empty() ? folder.filename().generic_string() : name.generic_string();
}

void refuse_flags(const ServeFlags& flags, std::initializer_list<const char*> refused, const char* models) {
  for (const char* flag : refused)
    if (flags.given.contains(flag)) throw UsageError(fmt::format("{} is for models {}", flag, models));
}

void refuse_flags_of_answers(const ServeFlags& flags) {
  refuse_flags(flags,
               {"--slots", "--mmproj", "--template", "--template-arg", "--tokens", "--temp", "--top-k", "--top-p",
                "--min-p", "--repeat-penalty", "--repeat-last-n", "--presence-penalty", "--frequency-penalty",
                "--logit-bias", "--seed", "--draft-model", "--draft-lookup", "--draft-tokens"},
               "that write text");
}

/// Of models that read texts and write none.
void refuse_flags_of_others(const ServeFlags& flags) {
  refuse_flags_of_answers(flags);
  refuse_flags(flags, {"--cache-dtype"}, "that write text");
  refuse_flags(flags, {"--beams"}, "that read sound");
}

void serve_texts(const ServeFlags& flags, const std::filesystem::path& folder, const AdapterFiles* adapter) {
  refuse_flags(flags, {"--beams"}, "that read sound");
  Model model = model_to_generate(folder, flags.dtype, adapter);
  std::optional<ChatSetup> setup;
  if (!flags.chat_template.empty() || find_chat_template(folder)) setup.emplace(flags, folder);
  const PromptText tokenizer(folder);
  auto [config, taken] = answer_settings(flags, folder, model, tokenizer, setup ? setup->behind_answers : "");
  const auto given = [&](const char* flag) { return flags.given.contains(flag); };
  // Then the likeliest token also where a request says top_p alone.
  if (given("--temp") && flags.sampling.temperature == 0) config.temperature = 0;
  // Throws for what the settings can't be, and says how many tokens a choice needs.
  GenerationConfig longest = config;
  longest.max_new_tokens = INT32_MAX;
  const auto search = make_search(longest, {{0}}, model.vocabulary);
  DraftSetup drafts(flags, model, tokenizer);
  Weights weights(model.parameters, folder);

  Front front(flags, name_of(flags, folder));
  auto backend = open_backend(flags.common);
  if (!taken.empty() && !flags.common.quiet) say("{}", taken);
  tell_fallbacks(model, flags.dtype, flags.common.quiet);
  GeneratorShape shape{.rows = flags.slots,
                       .capacity = flags.context,
                       .choices = search->choices(),
                       .usable = search->usable(),
                       .cache_type = cache_type(flags.cache_dtype)};
  // Between two runs of a prompt others go on, and the server can end.
  if (backend->facts().is_cpu()) shape.run_positions = 512;
  Sight sight(*backend, folder, model, tokenizer, flags.dtype, resolve_mmproj(flags.mmproj, flags.model, folder));
  if (!flags.mmproj.empty()) sight.need();
  sight.share_with(weights);
  check_fits(model, folder, shape, *backend, drafts.bytes(shape, backend->facts()) + sight.bytes());
  const auto store = make_model_store(*backend, model);
  SessionGroup group(*backend, model, store, shape);
  for (size_t i = 0; i < group.size(); ++i) sight.open(group.generator(i));
  group.prepare();
  load_weights(weights, model, adapter, *store, flags.common.quiet);
  drafts.make(*backend, group.generator(0), flags.common.quiet);
  if (given("--context") && model.context > 0 && model.context < flags.context && !flags.common.quiet)
    say("the model has {} positions, so that is the context", model.context);
  TextSlots slots(group, tokenizer, drafts, static_cast<size_t>(flags.waiting));
  TextService service(slots, tokenizer, sight, setup ? &*setup : nullptr, config, given("--seed"), model.vocabulary,
                      {.name = name_of(flags, folder), .path = flags.model, .sees = sight.there()}, flags.common.quiet);
  front.serve(service, fmt::format("{} of {} positions, {} of caches; {}", counted(flags.slots, "slot"),
                                   slots.capacity(), size_text(group.cache_bytes()),
                                   setup ? setup->chat_template.name() : "no chat template: /v1/completions alone"));
}

void serve_embeddings(const ServeFlags& flags, const std::filesystem::path& folder, const EmbeddingRecipe& given,
                      const AdapterFiles* adapter) {
  refuse_flags_of_others(flags);
  const Model model = model_to_embed(folder, flags.dtype, adapter);
  const EmbeddingRecipe recipe = model.task == Task::vector ? EmbeddingRecipe() : given;
  const Tokenizer tokenizer = TokenizerFiles::load(tokenizer_folder(folder, adapter)).tokenizer();
  std::vector<DenseLayer> dense;
  for (const std::string& path : recipe.dense) dense.push_back(DenseLayer::load(folder / path));
  const Weights weights(model.parameters, folder);
  int64_t most = model.context > 0 ? model.context : flags.context;
  if (recipe.most_tokens > 0) most = std::min(most, recipe.most_tokens);

  Front front(flags, name_of(flags, folder));
  auto backend = open_backend(flags.common);
  Embedder embedder(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter),
                    backend->make_workspace(), recipe.pooling, std::move(dense));
  EmbeddingService service(embedder, model, tokenizer, recipe, fill_of(model, folder, tokenizer),
                           {.most_tokens = most, .positions = flags.context, .most_waiting = flags.waiting},
                           name_of(flags, folder));
  front.serve(service, fmt::format("embeddings of texts of up to {} tokens, by {}", most,
                                   model.task == Task::vector ? "its own head" : name_of(recipe.pooling)));
}

void serve_classes(const ServeFlags& flags, const std::filesystem::path& folder, const AdapterFiles* adapter) {
  refuse_flags_of_others(flags);
  const Model model = model_to_generate(folder, flags.dtype, adapter);
  const auto config = JsonObject::make(*model.config, flags.model);
  const std::vector<std::string> classes = classes_of(config, 1);
  const auto relevance = classes.size() == 1 ? std::optional(relevance_of(config)) : std::nullopt;
  const Tokenizer tokenizer = TokenizerFiles::load(tokenizer_folder(folder, adapter)).tokenizer();
  const Weights weights(model.parameters, folder);
  const int64_t most = model.context > 0 ? model.context : flags.context;

  Front front(flags, name_of(flags, folder));
  auto backend = open_backend(flags.common);
  Classifier classifier(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter),
                        backend->make_workspace());
  ClassService service(classifier, model, tokenizer, classes, relevance,
                       {.most_tokens = most, .positions = flags.context, .most_waiting = flags.waiting},
                       name_of(flags, folder));
  front.serve(service, fmt::format("{} of texts of up to {} tokens",
                                   relevance ? "relevance" : counted(std::ssize(classes), "label"), most));
}

void serve_speech(const ServeFlags& flags) {
  refuse_flags_of_answers(flags);
  refuse_flags(flags, {"--context", "--embeddings"}, "that read text");
  const SpeechSetup setup(flags.model, flags.dtype, flags.adapter);
  TranscribeSettings settings{.cache_type = cache_type(flags.cache_dtype)};
  if (flags.given.contains("--beams")) settings.beams = flags.beams;

  Front front(flags, name_of(flags, setup.folder), "speech", most_audio);
  auto backend = open_backend(flags.common);
  Transcriber transcriber(*backend, setup.model, setup.load(*backend, settings, flags.common.quiet),
                          *setup.text.tokenizer(), setup.tokens, setup.mel, settings);
  SpeechService service(transcriber, setup.mel.rate, flags.waiting, flags.common.quiet);
  const auto languages = std::ssize(setup.tokens.languages);
  front.serve(service, fmt::format("speech in {}, {}", languages > 0 ? counted(languages, "language") : "English",
                                   counted(settings.beams, "beam")));
}

}  // namespace

void serve(const ServeFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  if (load_model(folder).frame_columns > 0) return serve_speech(flags);
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = load_model(folder, adapter.get());
  check(!model.sees(), "{} sees pictures ({}), which is not served; classify and embed show them to it", flags.model,
        model.family);
  if (!flags.embeddings && classifies(model)) return serve_classes(flags, folder, adapter.get());
  const EmbeddingRecipe recipe = embedding_recipe(folder);
  const bool writes = model.generates() && !model.has_encoder();
  if (flags.embeddings || recipe.said || !writes) {
    check(!model.has_encoder(), "{} is an encoder-decoder ({}), which is not served; translate and generate run it",
          flags.model, model.family);
    return serve_embeddings(flags, folder, recipe, adapter.get());
  }
  serve_texts(flags, folder, adapter.get());
}

}  // namespace vkformer
