#include "models/text/older_tokenizer.h"

#include <algorithm>

#include "models/text/older_makers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

namespace fs = std::filesystem;

struct OlderClass {
  std::vector<std::string_view> names;
  std::vector<const char*> files;   ///< all of them
  std::vector<const char*> models;  ///< SentencePiece's file: the first of these that is there
  nlohmann::json (*make)(const OlderFiles&);
};

const std::vector<OlderClass>& older_classes() {
  static const std::vector<OlderClass> all = {
      {{"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"}, {"vocab.txt"}, {}, make_older_bert},
      {{"GPT2Tokenizer", "CodeGenTokenizer"}, {"vocab.json", "merges.txt"}, {}, make_older_gpt2},
      {{"RobertaTokenizer", "BartTokenizer"}, {"vocab.json", "merges.txt"}, {}, make_older_roberta},
      {{"T5Tokenizer", "MT5Tokenizer"}, {}, {"spiece.model", "sentencepiece.model"}, make_older_t5},
      {{"XLMRobertaTokenizer"}, {}, {"sentencepiece.bpe.model"}, make_older_xlm_roberta},
      {{"MBartTokenizer"}, {}, {"sentencepiece.bpe.model"}, make_older_mbart},
      {{"MBart50Tokenizer"}, {}, {"sentencepiece.bpe.model"}, make_older_mbart_50},
      {{"M2M100Tokenizer"}, {"vocab.json"}, {"sentencepiece.bpe.model"}, make_older_m2m_100},
      {{"PegasusTokenizer"}, {}, {"spiece.model"}, make_older_pegasus},
      {{"CamembertTokenizer"}, {}, {"sentencepiece.bpe.model"}, make_older_camembert},
      {{"DebertaV2Tokenizer"}, {}, {"spm.model"}, make_older_deberta},
      {{"XLNetTokenizer"}, {}, {"spiece.model"}, make_older_xlnet},
      {{"LlamaTokenizer"}, {}, {"tokenizer.model"}, make_older_llama},
      {{"MarianTokenizer"}, {"source.spm", "target.spm", "vocab.json"}, {}, make_older_marian}};
  return all;
}

/// What to make of a folder, or why nothing can be.
struct OlderPlan {
  const OlderClass* kind = nullptr;
  std::string model = {}, why = {};
};

constexpr const char* what_else =
    "let transformers make a tokenizer.json of it (AutoTokenizer.from_pretrained, save_pretrained)";

OlderPlan plan_for(const fs::path& folder, const OlderSettings& settings, TextSide side) {
  const auto is_there = [&](const char* file) { return fs::exists(folder / file); };
  const auto* any = std::ranges::find_if(older_tokenizer_files, is_there);
  if (any == std::end(older_tokenizer_files))
    return {.why =
                fmt::format("'{}' has no tokenizer.json, nor older files of a tokenizer; download them from where the "
                            "model is from (generate and logits also take --ids, without one)",
                            settings.folder())};
  const std::string& name = settings.tokenizer_class();
  if (name.empty())
    return {.why =
                fmt::format("'{}' has {} and no tokenizer.json, and neither tokenizer_config.json nor config.json says "
                            "of which kind it is (tokenizer_class, model_type); download those, too",
                            settings.folder(), *any)};
  OlderPlan plan;
  for (const OlderClass& known : older_classes())
    if (std::ranges::find(known.names, name) != known.names.end()) plan.kind = &known;
  if (plan.kind == nullptr)
    return {.why = fmt::format("'{}' has {} and no tokenizer.json, and its tokenizer_class {} is not known; {}",
                               settings.folder(), *any, in_quotes(name), what_else)};
  std::vector<const char*> needed = plan.kind->files;
  const auto& models = plan.kind->models;
  const auto model = std::ranges::find_if(models, is_there);
  if (model != models.end()) plan.model = *model;
  if (!models.empty() && model == models.end()) needed.push_back(models.front());
  if (side == TextSide::target && settings.flag("separate_vocabs", false)) needed.push_back("target_vocab.json");
  for (const char* file : needed)
    if (!is_there(file))
      return {.why = fmt::format("'{}' has neither tokenizer.json nor {}, of which one is made for its {}; download it",
                                 settings.folder(), file, name)};
  if (side == TextSide::target && plan.kind->make != make_older_marian)
    return {.why = fmt::format("'{}' has one tokenizer for both sides", settings.folder())};
  return plan;
}

}  // namespace

std::string why_no_older_tokenizer(const fs::path& folder, TextSide side) {
  return plan_for(folder, OlderSettings(folder), side).why;
}

nlohmann::json older_tokenizer(const fs::path& folder, TextSide side) {
  const OlderSettings settings(folder);
  const OlderPlan plan = plan_for(folder, settings, side);
  check(plan.kind != nullptr && plan.why.empty(), "{}", plan.why);
  nlohmann::json tokenizer =
      plan.kind->make({.folder = folder, .settings = settings, .model = plan.model, .side = side});
  tokenizer.update({{"version", "1.0"}, {"truncation", nullptr}, {"padding", nullptr}});
  return tokenizer;
}

}  // namespace vkformer
