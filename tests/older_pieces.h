#pragma once
// What tests of older tokenizers make their files of: SentencePiece's own models of a few lines, and texts to cut.

#include <sentencepiece_processor.h>

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "models/model_files.h"
#include "models/text/sentence_pieces.h"
#include "models/text/tokenizer.h"
#include "tests/file_helpers.h"

namespace vkformer::testing {

inline Tokenizer made_in(const TemporaryFolder& folder, std::string_view file = vkformer::tokenizer_file) {
  REQUIRE(has_model_json(folder.path(), file));
  return Tokenizer(load_model_json(folder.path(), file));
}

inline std::string error_in(const TemporaryFolder& folder) {
  return error_of([&] { Tokenizer(load_model_json(folder.path(), vkformer::tokenizer_file)); });
}

/// Some lines of English and of German, for vocabularies.
inline const std::vector<std::string>& english_lines() {
  static const std::vector<std::string> lines = {
      "The old man walks slowly along the river, and his dog walks behind him.",
      "A young woman is reading a newspaper in front of the station in 1,999 minutes.",
      "Two children are playing with a ball while their mother is watching them.",
      "The weather was cold, but the people on the street were smiling and singing.",
      "He asked whether the train to London would leave at half past nine.",
      "She said that nobody had ever seen the mountain without clouds around it."};
  return lines;
}
inline const std::vector<std::string>& german_lines() {
  static const std::vector<std::string> lines = {
      "Der alte Mann geht langsam am Fluss entlang, und sein Hund läuft hinter ihm her.",
      "Eine junge Frau liest vor dem Bahnhof eine Zeitung, während es draußen schneit.",
      "Zwei Kinder spielen mit einem Ball, und ihre Mutter schaut ihnen dabei zu.",
      "Das Wetter war kalt, aber die Leute auf der Straße lächelten und sangen.",
      "Er fragte, ob der Zug nach London um halb zehn abfahren würde.",
      "Sie sagte, niemand habe den Berg je ohne Wolken um den Gipfel gesehen."};
  return lines;
}
inline const std::vector<std::string> odd_texts = {"",
                                                   " ",
                                                   "walking  to   the station ",
                                                   "  The man",
                                                   "ﬁne “quotes” and ½ of ＦＵＬＬ width",
                                                   "日本 river 日本語",
                                                   "naïve Müller läuft",
                                                   "in 1,999 minutes, 12,",
                                                   "tab\tand\nline"};

inline std::vector<std::string> all_texts() {
  std::vector<std::string> texts = odd_texts;
  texts.insert(texts.end(), english_lines().begin(), english_lines().end());
  texts.insert(texts.end(), german_lines().begin(), german_lines().end());
  return texts;
}

/// SentencePiece's own model of some lines.
struct TrainedPieces {
  std::string bytes;
  sentencepiece::SentencePieceProcessor processor;

  TrainedPieces(const std::vector<std::string>& lines, SentencePieceOptions options) {
    bytes = train_sentence_pieces(lines, std::move(options)).model;
    REQUIRE(processor.LoadFromSerializedProto(bytes).ok());
  }
  std::vector<int> ids(const std::string& text) const { return processor.EncodeAsIds(text); }
};

inline SentencePieceOptions unigram_options() {
  return {{"model_type", "unigram"}, {"vocab_size", "120"}, {"num_threads", "1"}};
}

}  // namespace vkformer::testing
