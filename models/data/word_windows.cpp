#include "models/data/word_windows.h"

#include <algorithm>

#include "models/text/tokenizer.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

Encoding encode_word(const Tokenizer& tokenizer, const std::string& word, std::string_view place) {
  Encoding encoding = tokenizer.encode(' ' + word, false);
  if (!encoding.ids.empty()) return encoding;
  for (const char* name : {"[UNK]", "<unk>"})
    if (const auto id = tokenizer.id_of(name)) return {.ids = {*id}, .type_ids = {0}, .tokens = {name}};
  fail("{}: the tokenizer makes no token of the word {}, and has none for unknown words; leave it out", place,
       in_quotes(word));
}

/// Where a window's own tokens begin, behind special ones, and how many of those there are.
struct Frame {
  int64_t before = 0, specials = 0;

  explicit Frame(const Tokenizer& tokenizer) {
    const Encoding framed = tokenizer.surround({{.ids = {0}, .type_ids = {0}, .tokens = {""}, .spans = {{0, 0, 0}}}});
    specials = std::ssize(framed.ids) - 1;
    while (framed.spans[static_cast<size_t>(before)].text == TokenSpan::no_text) ++before;
  }
};

}  // namespace

void WordWindows::add(const Tokenizer& tokenizer, const std::vector<std::string>& words, int64_t most,
                      std::string_view place) {
  const Frame frame(tokenizer);
  const int64_t room = most - frame.specials;
  check(room > 0, "the tokenizer's special tokens around a text are {}; give it more than {} positions", frame.specials,
        most);
  const size_t text = text_count++, windows_before = windows.size();
  Encoding tokens;
  Window window{.text = text};
  const auto finish = [&] {
    Encoding framed = tokenizer.surround({std::move(tokens)});
    texts.ids.push_back(std::move(framed.ids));
    texts.segments.push_back(std::move(framed.type_ids));
    const size_t next = window.first_word + window.positions.size();
    windows.push_back(std::move(window));
    window = {.text = text, .first_word = next};
    tokens = {};
  };
  for (const std::string& word : words) {
    Encoding encoded = encode_word(tokenizer, word, place);
    if (std::ssize(encoded.ids) > room) encoded = encoded.part(0, static_cast<size_t>(room));
    if (std::ssize(tokens.ids) + std::ssize(encoded.ids) > room) finish();
    window.positions.push_back(static_cast<int32_t>(frame.before + std::ssize(tokens.ids)));
    tokens.append(encoded);
  }
  if (!window.positions.empty()) finish();
  split += windows.size() - windows_before > 1;
}

std::vector<std::vector<int32_t>> WordWindows::targets(const std::vector<std::vector<int32_t>>& classes) const {
  std::vector<std::vector<int32_t>> targets;
  for (size_t i = 0; i < windows.size(); ++i) {
    std::vector<int32_t>& own = targets.emplace_back(texts.ids[i].size(), ignored_target);
    for (size_t word = 0; word < windows[i].positions.size(); ++word)
      own[static_cast<size_t>(windows[i].positions[word])] = classes[windows[i].text][windows[i].first_word + word];
  }
  return targets;
}

std::vector<std::string> words_of_line(std::string_view line) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string> words;
  for (size_t at = line.find_first_not_of(blanks); at != line.npos; at = line.find_first_not_of(blanks, at)) {
    const size_t end = std::min(line.find_first_of(blanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace vkformer
