// Recorded encodings of a tokenizer: every text and pair of cases.json, bit for bit.

#include <map>
#include <nlohmann/json.hpp>

#include "models/text/tokenizer.h"
#include "models/verify/verify_parts.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

using nlohmann::json;

/// How many comparisons of each kind there were, and which failed.
class Tally {
 public:
  void compare(const std::string& kind, const json& got, const json& text, const json& want) {
    Count& count = counts_[kind];
    ++count.all;
    if (got == want) return;
    if (count.wrong++ == 0) count.first = fmt::format("first at {}", in_quotes(text.dump()));
  }
  void report(const std::string& prefix, const std::function<void(const VerifyRow&)>& report_row) const {
    for (const auto& [kind, count] : counts_)
      report_row({.tensor = prefix + kind,
                  .error = static_cast<double>(count.wrong),
                  .how = fmt::format("wrong of {}", count.all),
                  .verdict = verdict(count.wrong == 0),
                  .note = count.first});
  }

 private:
  struct Count {
    int64_t all = 0, wrong = 0;
    std::string first;
  };
  std::map<std::string, Count> counts_;
};

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  TokenStream stream(tokenizer);
  std::string text;
  for (const int32_t id : ids) text += stream.push(id);
  return text + stream.finish();
}

void compare_text(const Tokenizer& tokenizer, const json& recorded, Tally& tally) {
  const json& text = recorded.at("text");
  const Encoding encoding = tokenizer.encode(text.get<std::string>());
  tally.compare("ids", encoding.ids, text, recorded.at("ids"));
  tally.compare("tokens", encoding.tokens, text, recorded.at("tokens"));
  tally.compare("ids without added specials", tokenizer.encode(text.get<std::string>(), false).ids, text,
                recorded.at("ids_without_added_specials"));
  // From the recorded ids, so that each comparison stands for itself.
  const auto ids = recorded.at("ids").get<std::vector<int32_t>>();
  tally.compare("decoded", tokenizer.decode(ids, false), text, recorded.at("decoded"));
  tally.compare("decoded, skipping specials", tokenizer.decode(ids), text, recorded.at("decoded_skip_special"));
  tally.compare("decoded one by one", streamed(tokenizer, ids), text, recorded.at("decoded_skip_special"));
}

}  // namespace

bool holds_tokenizer_case(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / "tokenizer.json") && std::filesystem::exists(folder / "cases.json");
}

void verify_tokenizer(const std::filesystem::path& folder, const std::string& prefix,
                      const std::function<void(const VerifyRow&)>& report) {
  const Tokenizer tokenizer = Tokenizer::load(folder / "tokenizer.json");
  const JsonObject recorded = JsonObject::load(folder / "cases.json");
  Tally tally;
  for (const JsonObject& text : require_objects(recorded, "cases")) compare_text(tokenizer, text.value(), tally);
  if (recorded.has("pairs"))
    for (const JsonObject& pair : require_objects(recorded, "pairs")) {
      const json& texts = pair.value().at("text");
      const Encoding encoding = tokenizer.encode_pair(texts.at(0).get<std::string>(), texts.at(1).get<std::string>());
      tally.compare("pairs, ids", encoding.ids, texts, pair.value().at("ids"));
      tally.compare("pairs, type ids", encoding.type_ids, texts, pair.value().at("type_ids"));
    }
  tally.report(prefix, report);
}

}  // namespace vkformer
