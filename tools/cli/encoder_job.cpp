#include "tools/cli/encoder_job.h"

#include <algorithm>

#include "models/adapters/adapter_head.h"
#include "models/families/config_keys.h"
#include "models/families/encoder_head.h"
#include "models/families/registry.h"
#include "runtime/check.h"

namespace vkformer {

nlohmann::json keys_of_head(const JsonObject& config, const JobHead& head) {
  if (head.architecture[0] == 0) {  // which only encoders have a name for
    const std::string type = require_string(config, "model_type");
    const bool encoder = std::ranges::count(encoder_classes, type, [](const auto& family) { return family.first; }) > 0;
    if (!encoder) return nlohmann::json::object();
    return {{"architectures", {name_of_head(type, EncoderHead::none)}}};
  }
  nlohmann::json keys = {{"architectures", {architecture_with_head(config, head.architecture)}}};
  if (head.problem == Problem::number)
    keys["problem_type"] = "regression";
  else if (head.problem == Problem::each_class)  // which one class says by itself
    keys["problem_type"] = head.classes.size() > 1 ? nlohmann::json("multi_label_classification") : nlohmann::json();
  else if (config.has("problem_type"))
    keys["problem_type"] = "single_label_classification";
  if (!head.classes.empty()) keys["num_labels"] = head.classes.size();
  for (size_t i = 0; i < head.classes.size(); ++i) {
    keys["id2label"][std::to_string(i)] = head.classes[i];
    keys["label2id"][head.classes[i]] = i;
  }
  return keys;
}

namespace {

bool is_for(const JsonObject& config, const JobHead& head) {
  const nlohmann::json architecture = {architecture_with_head(config, head.architecture)};
  return config.has("architectures") && config.value()["architectures"] == architecture &&
         (head.classes.empty() || classes_of(config, 1) == head.classes);  // what they mean may change
}

}  // namespace

void begin_head_anew(Model& model, const JobHead& head, const JsonObject& from) {
  if (head.architecture[0] == 0 || is_for(from, head)) return;
  for (ParameterSpec& parameter : model.parameters) {
    const auto named_by = [&](const char* part) { return parameter.name.find(part) != std::string::npos; };
    parameter.anew = std::ranges::any_of(head.own, named_by);
    parameter.optional |= std::ranges::any_of(head.shared, named_by);
  }
}

JsonObject config_of_run(const TrainFlags& flags, const std::filesystem::path& checkpoint) {
  if (has_config(flags, checkpoint)) return JsonObject::load(checkpoint / "config.json");
  const AdapterFiles adapter(checkpoint);
  return JsonObject::make(*load_model(flags.from, &adapter).config, checkpoint.generic_string());
}

std::vector<std::string> classes_of_run(const TrainFlags& flags, const std::filesystem::path& checkpoint) {
  return classes_of(config_of_run(flags, checkpoint), 2);
}

EncoderText EncoderText::load(const TrainFlags& flags, const std::filesystem::path& checkpoint, const char* option) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  if (folder.empty())
    throw UsageError(fmt::format("{} needs --tokenizer FOLDER, with a tokenizer.json, or --from FOLDER", option));
  const JsonObject config = config_of_job(flags, checkpoint);
  return EncoderText(TokenizerFiles::load(folder), &config);
}

EncoderText::EncoderText(TokenizerFiles from, const JsonObject* config)
    : files(std::move(from)), tokenizer(files.tokenizer()) {
  auto found = padding_id(tokenizer);
  // Decoders' tokenizers often have none; then whatever their configs name.
  for (const char* key : {"pad_token_id", "eos_token_id"})
    if (!found && config && config->has(key) && config->value()[key].is_number_integer())
      found = config->value()[key].get<int32_t>();
  check(found.has_value(), "{} has no token for padding; an encoder's tokenizer needs [PAD] or <pad>", files.name());
  padding = *found;
}

TrainJob encoder_job(TrainFlags& flags, const std::filesystem::path& checkpoint, const EncoderText& text,
                     const JobHead& head) {
  const nlohmann::json ids = {{"pad_token_id", text.padding}};
  nlohmann::json changes = ids, keys;
  if (!has_config(flags, checkpoint)) changes.update(keys = keys_of_head(first_config(flags), head));
  TrainJob job = job_of_tokens(flags, checkpoint,
                               {.count = text.tokenizer.size(), .ids = ids, .write = text.files.writer()}, changes);
  job.ids = ids;
  // BART's classifiers are told by transformers where a text ends.
  const std::vector<int32_t> around = text.tokenizer.encode("").ids;
  if (job.model->config->value("is_encoder_decoder", false) && !around.empty()) job.ids["eos_token_id"] = around.back();
  job.head = keys;
  if (!flags.from.empty()) begin_head_anew(*job.model, head, first_config(flags));
  set_context(flags, *job.model);
  if (!flags.resume && !flags.given.contains("--batch")) flags.batch = head.rows;
  return job;
}

std::unique_ptr<TextData> encoder_data(const TrainFlags& flags, const Model& model, TextData::Split training,
                                       TextData::Split validation, int64_t targets) {
  const int32_t segment = std::max(training.texts.largest_segment(), validation.texts.largest_segment());
  return std::make_unique<TextData>(
      std::move(training), std::move(validation),
      TextData::Settings{
          .batches = {.positions = flags.batch_tokens, .most_rows = flags.batch, .seed = flags.settings.seed},
          .inputs = text_inputs(model, segment),
          .targets = targets});
}

}  // namespace vkformer
