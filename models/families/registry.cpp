#include "models/families/registry.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/bert/bert.h"
#include "models/families/biogpt/biogpt.h"
#include "models/families/bloom/bloom.h"
#include "models/families/cohere/cohere.h"
#include "models/families/decoder_head.h"
#include "models/families/deepseek/deepseek.h"
#include "models/families/encoder_decoder/encoder_decoder.h"
#include "models/families/ernie4_5/ernie4_5.h"
#include "models/families/exaone4/exaone4.h"
#include "models/families/falcon/falcon.h"
#include "models/families/falcon_h1/falcon_h1.h"
#include "models/families/gemma/gemma.h"
#include "models/families/gemma4/gemma4.h"
#include "models/families/glm/glm.h"
#include "models/families/glm4_moe/glm4_moe.h"
#include "models/families/gpt2/gpt2.h"
#include "models/families/gpt_bigcode/gpt_bigcode.h"
#include "models/families/gpt_neo/gpt_neo.h"
#include "models/families/gpt_neox/gpt_neox.h"
#include "models/families/gpt_oss/gpt_oss.h"
#include "models/families/gptj/gptj.h"
#include "models/families/granite/granite.h"
#include "models/families/hunyuan/hunyuan.h"
#include "models/families/lfm2/lfm2.h"
#include "models/families/llama/llama.h"
#include "models/families/ministral3/ministral3.h"
#include "models/families/mixtral/mixtral.h"
#include "models/families/modern_bert/modern_bert.h"
#include "models/families/mpt/mpt.h"
#include "models/families/nanochat/nanochat.h"
#include "models/families/nemotron_h/nemotron_h.h"
#include "models/families/olmo/olmo.h"
#include "models/families/olmo2/olmo2.h"
#include "models/families/olmo3/olmo3.h"
#include "models/families/olmoe/olmoe.h"
#include "models/families/opt/opt.h"
#include "models/families/phi/phi.h"
#include "models/families/phi3/phi3.h"
#include "models/families/qwen2_moe/qwen2_moe.h"
#include "models/families/qwen3/qwen3.h"
#include "models/families/qwen3_5/qwen3_5.h"
#include "models/families/qwen3_moe/qwen3_moe.h"
#include "models/families/qwen_vl_text.h"
#include "models/families/seed_oss/seed_oss.h"
#include "models/families/smollm3/smollm3.h"
#include "models/families/stablelm/stablelm.h"
#include "models/families/starcoder2/starcoder2.h"
#include "models/families/t5/t5.h"
#include "models/families/vision/text_tower.h"
#include "models/families/vision/two_towers.h"
#include "models/families/vision/vision.h"
#include "models/families/xglm/xglm.h"
#include "models/families/xlnet/xlnet.h"
#include "models/model_files.h"
#include "models/quantised/quantisation.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

struct Family {
  std::vector<std::string_view> types;  ///< model_type values
  Model (*make)(const JsonObject& config);
  /// What a config leaves open, as the files of its folder have it; nullptr: nothing.
  void (*settle)(nlohmann::json& config, const JsonObject& read, const std::filesystem::path& model) = nullptr;
};

const Family families[] = {
    {{"gpt2"}, [](const JsonObject& config) { return make_gpt2(Gpt2Config::from_json(config)); }},
    {{"gpt_neox"}, make_gpt_neox},
    {{"opt"}, make_opt},
    {{"bloom"}, make_bloom},
    {{"gpt_neo"}, make_gpt_neo},
    {{"phi"}, make_phi},
    {{"starcoder2"}, make_starcoder2},
    {{"gptj", "codegen"}, make_gptj},
    {{"gpt_bigcode"}, make_gpt_bigcode},
    {{"mpt"}, make_mpt},
    {{"xglm"}, make_xglm},
    {{"biogpt"}, make_biogpt},
    {{"falcon"}, make_falcon},
    {{"llama", "mistral", "qwen2", "arcee"}, make_llama},
    {{"ministral3"}, make_ministral3},
    {{"glm", "glm4"}, make_glm},
    {{"glm4_moe"}, make_glm4_moe},
    {{"deepseek_v2", "deepseek_v3", "glm4_moe_lite"}, make_deepseek},
    {{"cohere", "cohere2"}, make_cohere},
    {{"ernie4_5"}, make_ernie4_5},
    {{"ernie4_5_moe"}, make_ernie4_5_moe},
    {{"exaone4"}, make_exaone4},
    {{"hunyuan_v1_dense", "hunyuan_v1_moe"}, make_hunyuan},
    {{"seed_oss"}, make_seed_oss},
    {{"nanochat"}, make_nanochat},
    {{"nemotron_h"}, make_nemotron_h},
    {{"falcon_h1"}, make_falcon_h1},
    {{"lfm2", "lfm2_moe"}, make_lfm2},
    {{"qwen3"}, make_qwen3},
    {{"gemma", "gemma2", "gemma3_text"}, make_gemma},
    {{"gemma4_text", "gemma4_unified_text"}, make_gemma4},
    {{"phi3"}, make_phi3},
    {{"olmo"}, make_olmo},
    {{"olmo2"}, make_olmo2},
    {{"stablelm"}, make_stablelm},
    {{"smollm3"}, make_smollm3},
    {{"qwen3_moe"}, make_qwen3_moe},
    {{"qwen3_5_text", "qwen3_5_moe_text", "qwen3_next"}, make_qwen3_5},
    {{"mixtral"}, make_mixtral},
    {{"granite", "granitemoe", "granitemoehybrid"}, make_granite},
    {{"olmoe"}, make_olmoe},
    {{"qwen2_moe"}, make_qwen2_moe},
    {{"olmo3"}, make_olmo3},
    {{"gpt_oss"}, make_gpt_oss},
    {{"bert", "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "electra", "albert", "deberta-v2",
      "nomic_bert"},
     [](const JsonObject& config) { return make_bert(BertConfig::from_json(config)); }},
    {{"modernbert"}, [](const JsonObject& config) { return make_modern_bert(ModernBertConfig::from_json(config)); }},
    {{"vaswani", "marian", "bart", "mbart", "m2m_100", "pegasus", "whisper"},
     [](const JsonObject& config) { return make_encoder_decoder(EncoderDecoderConfig::from_json(config)); }},
    {{"t5", "mt5"},
     [](const JsonObject& config) { return make_t5(T5Config::from_json(config)); },
     [](nlohmann::json& config, const JsonObject& read, const std::filesystem::path& model) {
       settle_t5_head(config, read, *open_weights(model));
     }},
    {{"dinov2"},
     [](const JsonObject& config) { return make_vision(VisionConfig::from_json(config)); },
     [](nlohmann::json& config, const JsonObject&, const std::filesystem::path& model) {
       settle_picture_size(config, model);
     }},
    {{"vit", "deit", "clip_vision_model", "siglip_vision_model"},
     [](const JsonObject& config) { return make_vision(VisionConfig::from_json(config)); }},
    {{"clip_text_model", "siglip_text_model"},
     [](const JsonObject& config) { return make_text_tower(TextTowerConfig::from_json(config)); }},
    {{"clip", "siglip"}, make_two_towers},
    {{"xlnet"}, [](const JsonObject& config) { return make_xlnet(XlnetConfig::from_json(config)); }},
};

/// What the file says beside what the model knows (special ids, names of classes) is kept for the file that is written.
Model with_config(Model model, const JsonObject& config) {
  nlohmann::json merged = config.value();
  merged.update(*model.config);
  merged.erase("dtype");  // the newer name of torch_dtype
  erase_quantisation(merged);
  model.config = std::make_shared<const nlohmann::json>(std::move(merged));
  return model;
}

/// What no device can hold is refused here, so that nothing behind computes with sizes near 2^63.
Model of_some_size(Model model, const JsonObject& config) {
  constexpr int64_t most = int64_t{1} << 42;
  int64_t rest = most;
  const auto take = [&](const Shape& shape) {
    check(shape.elements() <= rest, "{}: its sizes make a model of more than 2^42 parameters and constants",
          config.name());
    rest -= shape.elements();
  };
  for (const ParameterSpec& parameter : model.parameters) take(parameter.shape);
  for (const ConstantSpec& constant : model.constants) take(constant.type.shape);
  return model;
}

const Family& family_of(const JsonObject& config) {
  const std::string type = require_string(config, "model_type");
  for (const Family& family : families)
    if (std::find(family.types.begin(), family.types.end(), type) != family.types.end()) return family;
  std::string known;
  for (const Family& family : families)
    for (std::string_view name : family.types) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  fail("{}: model_type '{}' is not supported; vkformer runs: {}", config.name(), printable(type, 60), known);
}

constexpr std::string_view masked_head = "MaskedLM";

bool is_known(const JsonObject& config) {
  const std::string type = string_or(config, "model_type", "");
  return std::ranges::any_of(families,
                             [&](const Family& family) { return std::ranges::count(family.types, type) > 0; });
}

/// Of a model that also sees or hears (Gemma 3 of 4B and more) the part that writes, with what the config says above
/// it.
JsonObject text_part(const JsonObject& config) {
  const bool qwen = is_qwen_vl(config);
  if (!qwen && (is_known(config) || !config.has("text_config") || !is_known(require_object(config, "text_config"))))
    return config;
  nlohmann::json text = qwen ? qwen_vl_text(config) : config.value()["text_config"];
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"})
    if (config.has(key) && !text.contains(key)) text[key] = config.value()[key];
  // The head belongs to the whole: whatever the part says, which is what it would be by itself.
  if (constexpr const char* tied = "tie_word_embeddings"; config.has(tied)) text[tied] = config.value()[tied];
  text.erase("architectures");  // of what is in it, of whatever name
  return JsonObject::make(std::move(text), config.name() + ", text_config");
}

}  // namespace

bool stays_as_filed(const std::filesystem::path& model) {
  return is_gguf(model) ||
         (has_model_json(model, "config.json") && is_quantised(load_model_json(model, "config.json")));
}

Model make_model(const JsonObject& given) {
  quantisation_of(given);  // throws for what is not supported
  const JsonObject config = text_part(given);
  return with_config(of_some_size(family_of(config).make(config), config), config);
}

std::string architecture_with_head(const JsonObject& config, std::string_view head) {
  std::vector<std::pair<std::string_view, std::string_view>> known_families;
  const bool pictures = head == "ImageClassification";
  if (pictures) known_families = {{"vit", "ViT"}, {"deit", "DeiT"}, {"dinov2", "Dinov2"}};
  for (const auto& family : encoder_classes)
    if (pictures)
      break;
    else if (head != "QuestionAnswering" || has_head(family.first, EncoderHead::answer))
      known_families.push_back(family);
  if (head == "SequenceClassification") {
    known_families.insert(known_families.end(), {{"xlnet", "XLNet"}, {"bart", "Bart"}, {"mbart", "MBart"}});
    known_families.insert(known_families.end(), std::begin(decoder_classifiers), std::end(decoder_classifiers));
  }
  const std::string type = require_string(config, "model_type");
  std::vector<std::string_view> known;
  for (const auto& [name, prefix] : known_families) {
    if (name == type) return fmt::format("{}For{}", prefix, head);
    known.push_back(name);
  }
  fail("{}: there is no {} head for model_type '{}' here; give a config of {}", config.name(), head,
       printable(type, 60), fmt::join(known, ", "));
}

bool predicts_masked_words(const Model& model) {
  return model.task == Task::masked &&
         model.config->at("architectures").front().get<std::string>().ends_with(masked_head);
}

Model load_model(const std::filesystem::path& path) { return load_model(path, nlohmann::json::object()); }

Model load_model(const std::filesystem::path& path, const nlohmann::json& changes) {
  JsonObject config = load_model_json(path, "config.json");
  if (!changes.empty()) {
    nlohmann::json changed = config.value();
    changed.update(changes);
    config = JsonObject::make(std::move(changed), config.name());
  }
  const JsonObject text = text_part(config);
  const Family& family = family_of(text);
  if (!family.settle) return make_model(config);
  nlohmann::json settled = config.value();
  family.settle(settled, config, path);
  return make_model(JsonObject::parse(settled.dump(), config.name()));
}

}  // namespace vkformer
