#pragma once
// Files of tokenizers that are older than tokenizer.json, made of the recorded ones.

#include <nlohmann/json.hpp>

#include "models/text/sentence_piece_file.h"
#include "tests/file_helpers.h"

namespace vkformer::testing {

/// A protobuf field of bytes, of a whole number, and of a float.
inline std::string proto_number(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  return bytes;
}
inline std::string proto_bytes(uint64_t field, std::string_view bytes) {
  return proto_number(field << 3 | 2) + proto_number(bytes.size()) + std::string(bytes);
}
inline std::string proto_integer(uint64_t field, uint64_t value) {
  return proto_number(field << 3) + proto_number(value);
}
inline std::string proto_float(uint64_t field, float value) {
  std::string bytes = proto_number(field << 3 | 5);
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  return bytes;
}

/// SentencePiece's file.
inline std::string model_bytes(const SentencePieceFile& file) {
  std::string bytes;
  for (const SentencePieceFile::Piece& piece : file.pieces)
    bytes += proto_bytes(1, proto_bytes(1, piece.text) + proto_float(2, piece.score) +
                                proto_integer(3, static_cast<uint64_t>(piece.type)));
  bytes += proto_bytes(
      2, proto_integer(3, static_cast<uint64_t>(file.kind)) + proto_integer(35, file.byte_fallback ? 1 : 0) +
             proto_integer(40, static_cast<uint64_t>(file.unknown)) + proto_bytes(45, file.unknown_text));
  bytes += proto_bytes(3, proto_bytes(1, "nmt_nfkc") + proto_bytes(2, file.charsmap) +
                              proto_integer(3, file.prefix ? 1 : 0) + proto_integer(4, file.strips_blanks ? 1 : 0));
  return bytes;
}

/// The kind of an entry of a SentencePiece file by its text.
inline SentencePieceFile::Type type_of_piece(std::string_view text) {
  using Type = SentencePieceFile::Type;
  if (text == "<unk>") return Type::unknown;
  if (text == "<pad>" || text == "<s>" || text == "</s>") return Type::control;
  return text.size() == 6 && text.starts_with("<0x") ? Type::byte : Type::normal;
}

/// merges.txt
inline std::string merges_text(const nlohmann::json& merges) {
  std::string text = "#version: 0.2\n";
  for (const nlohmann::json& merge : merges)
    text += merge.is_string() ? merge.get<std::string>() + '\n'
                              : merge[0].get<std::string>() + ' ' + merge[1].get<std::string>() + '\n';
  return text;
}

/// vocab.txt
inline std::string vocabulary_text(const nlohmann::json& vocabulary) {
  std::vector<std::string> lines(vocabulary.size());
  for (const auto& [token, id] : vocabulary.items()) lines.at(id.get<size_t>()) = token;
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace vkformer::testing
