#pragma once
// Vocabularies made of text: SentencePiece's trainer writes what becomes a Hugging Face tokenizer.json.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

namespace vkformer {

struct SentencePieces;

/// What kind of vocabulary is wanted.
struct TokenizerTraining {
  enum class Kind : uint8_t {
    unigram,   ///< sentencepiece's usual one: each word is cut into its likeliest pieces
    bpe,       ///< pieces are merged in the order in which they were learnt
    byte_bpe,  ///< the same over bytes, as GPT-2's: every text is encoded, and decoded exactly
  };
  /// Which special tokens there are, and where they are put around a text.
  enum class Layout : uint8_t {
    translation,  ///< <pad> 0, </s> 1, <unk> 2; </s> behind each text
    bert,         ///< [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4; [CLS] A [SEP], [CLS] A [SEP] B [SEP]
    xlnet,  ///< <unk> 0, <s>, </s>, <cls>, <sep>, <pad>, <mask>, <eod>, <eop>; A <sep> <cls>, A <sep> B <sep> <cls>
    t5,     ///< translation's, and 100 sentinels: <extra_id_99> .. <extra_id_0> are the last ids
    plain,  ///< <|endoftext|>, the last id; nothing is put around a text
    /// As Whisper's of English alone, the last ids: <|endoftext|>, <|startoftranscript|>, <|startofprev|>,
    /// <|nospeech|>, <|notimestamps|>, <|0.00|> .. <|30.00|>; nothing is put around a text.
    speech,
  };
  Kind kind = Kind::unigram;
  Layout layout = Layout::translation;  ///< byte_bpe has plain and speech, the others have the rest
  int64_t size = 8000;                  ///< tokens, special ones and single characters (or the 256 bytes) among them
  bool lowercase = false;
  /// The share of the text's characters that must have a token, 0.98 or more; the rarest ones beyond it are unknown.
  /// Below 1 for texts with thousands of characters, such as Chinese; 0.9995 is usual then. byte_bpe has no unknown
  /// ones.
  double coverage = 1;
  /// Of unigram. Scores are sums split by thread, so results depend on it, not on the machine.
  uint32_t threads = 8;
};

/// By its name on the command line: "bert". Throws Error for others.
TokenizerTraining::Layout layout_named(std::string_view name);

/// The content of tokenizer.json, trained on `lines` of UTF-8 without line feeds (for byte_bpe: texts, with the line
/// feeds that there will be). No more tokens than size, fewer where the lines give no more. Unigram and bpe give the
/// ids of sentencepiece's own SentencePieceProcessor, after its rules nmt_nfkc: they make compatible characters and
/// blanks the same, so decoding gives the text in that form. (Of unigram's cuts with one score, such as 0 00 and 00 0,
/// its float sums take either, the tokenizers library and we the first.) Nothing is drawn: the same lines and settings
/// give the same bytes. Throws Error on lines that are not UTF-8, that have only blanks, and on a size that the
/// alphabet does not fit into.
nlohmann::json train_tokenizer(std::span<const std::string> lines, const TokenizerTraining& training);

/// What train_tokenizer makes unigram and bpe of, without the sentinels behind it: ids are those of its tokens, too.
SentencePieces train_pieces(std::span<const std::string> lines, const TokenizerTraining& training);

/// Writes tokenizer.json, and the tokenizer_config.json by which transformers loads it and knows its special tokens,
/// into a folder, which is made where there is none. Throws Error.
void save_tokenizer(const nlohmann::json& tokenizer, TokenizerTraining::Layout layout,
                    const std::filesystem::path& folder);

}  // namespace vkformer
