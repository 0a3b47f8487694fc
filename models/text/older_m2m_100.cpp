// M2M-100's tokenizer, for which transformers has no converter.

#include <algorithm>
#include <span>

#include "models/text/language_codes.h"
#include "models/text/older_makers.h"
#include "models/text/older_tokens.h"
#include "models/text/older_vocabulary.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

std::string token_of(std::string_view language) { return fmt::format("__{}__", language); }

std::span<const std::string_view> languages_of(const OlderSettings& settings) {
  const std::string codes = settings.text("language_codes", "m2m100");
  check(codes == "m2m100" || codes == "wmt21",
        "'{}': language_codes {} in tokenizer_config.json is not supported; m2m100 and wmt21 are", settings.folder(),
        in_quotes(codes));
  return codes == "wmt21" ? std::span<const std::string_view>(wmt21_languages) : m2m_100_languages;
}

}  // namespace

nlohmann::json make_older_m2m_100(const OlderFiles& files) {
  using Kind = SentencePieceFile::Kind;
  const SentencePieceFile file = SentencePieceFile::load(files.folder / files.model);
  check(file.kind == Kind::unigram || file.kind == Kind::bpe, "{}: it is neither a Unigram nor a BPE model", file.name);
  const std::vector<std::string> texts = read_vocabulary(files.folder / "vocab.json");
  std::vector<OlderToken> languages;  // their ids are the next ones
  for (std::string_view language : languages_of(files.settings)) languages.push_back({token_of(language)});
  const std::string source = token_of(files.settings.text("src_lang", "en"));
  check(std::ranges::any_of(languages, [&](const OlderToken& token) { return token.content == source; }),
        "'{}': src_lang in tokenizer_config.json is none of its {} languages", files.settings.folder(),
        languages.size());
  const OlderTokens tokens(files.settings,
                           {{"bos_token", {"<s>"}},
                            {"eos_token", {"</s>"}},
                            {"sep_token", {"</s>"}},
                            {"unk_token", {"<unk>"}},
                            {"pad_token", {"<pad>"}},
                            {"language", {source}}},
                           static_cast<int64_t>(texts.size()), finder_of(texts), languages);
  return tokenizer_beside(
      file, tokens.added(), tokens.surround("language A eos_token", "language A B eos_token"),
      file.kind == Kind::unigram ? unigram_beside(file, texts, tokens.id("unk_token")) : bpe_beside(file, texts));
}

}  // namespace vkformer
