#include "models/text/sentence_piece_file.h"

#include <cmath>

#include "models/text/protobuf.h"
#include "runtime/files/json_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// Of pieces; vocabularies in use have at most a quarter of a million.
constexpr size_t most_pieces = size_t{1} << 21;

using File = SentencePieceFile;

/// ModelProto.SentencePiece
File::Piece read_piece(std::string_view message, const File& file) {
  File::Piece piece;
  uint64_t type = 1;
  each_field(message, file.name, [&](const ProtoField& field) {
    if (field.number == 1) piece.text = field.bytes;
    if (field.number == 2) piece.score = field.number_value();
    if (field.number == 3) type = field.value;
  });
  const size_t id = file.pieces.size();
  check(!piece.text.empty() && is_utf8(piece.text), "{}: piece {} is {}, which is no text; the file is damaged",
        file.name, id, in_quotes(piece.text));
  check(std::isfinite(piece.score) && type >= 1 && type <= 6,
        "{}: piece {}, {}, has the score {} and the type {}; the file is damaged", file.name, id, in_quotes(piece.text),
        piece.score, type);
  piece.type = static_cast<File::Type>(type);
  return piece;
}

void read_trainer_spec(std::string_view message, File& file) {
  uint64_t kind = 1, unknown = 0;
  each_field(message, file.name, [&](const ProtoField& field) {
    if (field.number == 3) kind = field.value;
    if (field.number == 35) file.byte_fallback = field.value != 0;
    if (field.number == 40) unknown = field.value;
    if (field.number == 45) file.unknown_text = field.bytes;
  });
  check(kind >= 1 && kind <= 4, "{}: its model_type is {}; the file is damaged", file.name, kind);
  check(unknown < most_pieces, "{}: its unk_id is {}; the file is damaged", file.name, unknown);
  file.kind = static_cast<File::Kind>(kind);
  file.unknown = static_cast<int32_t>(unknown);
}

void read_normalizer_spec(std::string_view message, File& file) {
  each_field(message, file.name, [&](const ProtoField& field) {
    if (field.number == 2) file.charsmap = field.bytes;
    if (field.number == 3) file.prefix = field.value != 0;
    if (field.number == 4) file.strips_blanks = field.value != 0;
  });
}

}  // namespace

File File::load(const std::filesystem::path& path) {
  const MappedFile file(path);
  std::string name = printable(path.generic_string());
  check(file.bytes().size() <= json_size_limit, "{}: {} bytes are too many for a SentencePiece model; check the path",
        name, file.bytes().size());
  return parse(file.text(), std::move(name));
}

File File::parse(std::string_view bytes, std::string name) {
  File file{.name = std::move(name)};
  each_field(bytes, file.name, [&](const ProtoField& field) {
    if (!field.is_bytes) return;
    if (field.number == 1) {
      check(file.pieces.size() < most_pieces, "{}: it has more than {} pieces; the file is damaged", file.name,
            most_pieces);
      file.pieces.push_back(read_piece(field.bytes, file));
    }
    if (field.number == 2) read_trainer_spec(field.bytes, file);
    if (field.number == 3) read_normalizer_spec(field.bytes, file);
  });
  check(!file.pieces.empty(), "{}: it has no pieces; it is no SentencePiece model, or damaged", file.name);
  check(is_utf8(file.unknown_text) && static_cast<size_t>(file.unknown) < file.pieces.size(),
        "{}: its unk_id is {}, of {} pieces; the file is damaged", file.name, file.unknown, file.pieces.size());
  return file;
}

}  // namespace vkformer
