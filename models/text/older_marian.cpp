// Marian's tokenizers, for which transformers has no converter: SentencePiece cuts a text, and another file has the
// ids.

#include "models/text/languages.h"
#include "models/text/older_makers.h"
#include "models/text/older_tokens.h"
#include "models/text/older_vocabulary.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

using nlohmann::json;

json make_older_marian(const OlderFiles& files) {
  const bool target = files.side == TextSide::target;
  const SentencePieceFile file = SentencePieceFile::load(files.folder / (target ? "target.spm" : "source.spm"));
  check(file.kind == SentencePieceFile::Kind::unigram, "{}: it is no Unigram model, which Marian's are", file.name);
  const bool apart = files.settings.flag("separate_vocabs", false);
  const std::vector<std::string> texts =
      read_vocabulary(files.folder / (target && apart ? "target_vocab.json" : "vocab.json"));

  std::vector<OlderToken> languages;
  for (const std::string& text : texts)
    if (is_written_language(text)) languages.push_back({.content = text, .special = false, .normalized = false});
  const OlderTokens tokens(files.settings,
                           {{"eos_token", {"</s>"}}, {"unk_token", {"<unk>"}}, {"pad_token", {"<pad>"}}},
                           static_cast<int64_t>(texts.size()), finder_of(texts), languages);

  return tokenizer_beside(file, tokens.added(), tokens.surround("A eos_token", "A B eos_token"),
                          unigram_beside(file, texts, tokens.id("unk_token")));
}

}  // namespace vkformer
