#pragma once
// Tokenizers of folders that are older than tokenizer.json, which is made of their files here as transformers'
// converters of slow tokenizers make it:
//
//   vocab.txt                            WordPiece of BERT
//   vocab.json, merges.txt               BPE of bytes: GPT-2, RoBERTa, BART
//   spiece.model                         SentencePiece's Unigram: T5, XLNet, Pegasus
//   spm.model                            the same: DeBERTa v2 and v3
//   sentencepiece.bpe.model              its pieces under other ids: XLM-RoBERTa, CamemBERT, mBART
//   tokenizer.model                      SentencePiece's BPE: LLaMA
//   source.spm, target.spm, vocab.json   Marian, which has no such converter
//   sentencepiece.bpe.model, vocab.json  M2M-100, which has none either

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vkformer {

/// Which language: encoder-decoders may cut the text that they write into other pieces than that which they read.
enum class TextSide : uint8_t { source, target };

/// Files of such tokenizers, all that there are.
inline constexpr const char* older_tokenizer_files[] = {
    "vocab.txt",       "vocab.json", "merges.txt", "spiece.model",     "spm.model", "sentencepiece.bpe.model",
    "tokenizer.model", "source.spm", "target.spm", "target_vocab.json"};

/// Why no tokenizer.json can be made for that side of a folder: a line that says what to do. "" when one can, as far as
/// names of files and classes tell. Throws Error for settings that can't be read.
std::string why_no_older_tokenizer(const std::filesystem::path& folder, TextSide side);

/// That tokenizer.json. Throws Error with that line, and for files that are damaged.
nlohmann::json older_tokenizer(const std::filesystem::path& folder, TextSide side);

}  // namespace vkformer
