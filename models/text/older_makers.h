#pragma once
// One function for each kind of files (see older_tokenizer.h); internal to this folder. Each returns a tokenizer.json
// but for its "version" and settings that are not applied. All throw Error, naming the file.

#include "models/text/older_settings.h"
#include "models/text/older_tokenizer.h"

namespace vkformer {

struct OlderFiles {
  std::filesystem::path folder;
  const OlderSettings& settings;
  std::string model = {};  ///< the name of SentencePiece's file
  TextSide side = TextSide::source;
};

nlohmann::json make_older_bert(const OlderFiles& files);
nlohmann::json make_older_gpt2(const OlderFiles& files);
nlohmann::json make_older_roberta(const OlderFiles& files);
nlohmann::json make_older_t5(const OlderFiles& files);
nlohmann::json make_older_xlm_roberta(const OlderFiles& files);
nlohmann::json make_older_mbart(const OlderFiles& files);
nlohmann::json make_older_mbart_50(const OlderFiles& files);
nlohmann::json make_older_m2m_100(const OlderFiles& files);
nlohmann::json make_older_pegasus(const OlderFiles& files);
nlohmann::json make_older_camembert(const OlderFiles& files);
nlohmann::json make_older_deberta(const OlderFiles& files);
nlohmann::json make_older_xlnet(const OlderFiles& files);
nlohmann::json make_older_llama(const OlderFiles& files);
nlohmann::json make_older_marian(const OlderFiles& files);

}  // namespace vkformer
