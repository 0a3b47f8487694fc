#pragma once
// Tokenizers of which SentencePiece cuts a text, and another file has the ids: Marian's, M2M-100's.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/text/sentence_piece_file.h"

namespace vkformer {

/// The tokens of a vocab.json by id. Throws Error, naming the file, for ids that are not 0, 1, ...
std::vector<std::string> read_vocabulary(const std::filesystem::path& path);

/// Left and right of each merge of a BPE file's own pieces, best first.
nlohmann::json merges_in(const SentencePieceFile& file);

/// The "model" of a tokenizer.json that cuts as a BPE file does.
nlohmann::json bpe_model(const SentencePieceFile& file, nlohmann::json vocabulary, nlohmann::json merges,
                         bool byte_fallback);

/// The "model" of a tokenizer.json whose texts are cut into the pieces of a Unigram file ("pieces", a key of our own);
/// `unknown`: the id of what the vocabulary lacks.
nlohmann::json unigram_beside(const SentencePieceFile& file, const std::vector<std::string>& vocabulary,
                              uint64_t unknown);

/// The same of a BPE file. Its pieces that the vocabulary lacks are not made: a text stays in smaller ones there, where
/// SentencePiece would leave <unk>.
nlohmann::json bpe_beside(const SentencePieceFile& file, const std::vector<std::string>& vocabulary);

/// The rest of such a tokenizer.json, which does to a text what SentencePiece does. `around`: its post-processor.
nlohmann::json tokenizer_beside(const SentencePieceFile& file, nlohmann::json added_tokens, nlohmann::json around,
                                nlohmann::json model);

}  // namespace vkformer
