#include "models/text/text_part.h"

#include "models/text/byte_alphabet.h"
#include "runtime/check.h"

namespace vkformer {

void check_growth(size_t before, size_t now) {
  const size_t most = 64 * before + (size_t{64} << 10);
  check(now <= most, "the tokenizer's rules make more than {} of a text of {}; its tokenizer.json can't be right", most,
        before);
}

TextPart TextPart::part(ByteRange range) const {
  TextPart taken{.text = text.substr(range.begin, range.end - range.begin),
                 .at_start = at_start && range.begin == 0,
                 .whole = whole};
  if (origins)
    taken.origins.emplace(origins->begin() + static_cast<ptrdiff_t>(range.begin),
                          origins->begin() + static_cast<ptrdiff_t>(range.end));
  return taken;
}

ByteRange TextPart::origin_of(ByteRange range) const {
  if (range.begin < range.end) return {(*origins)[range.begin].begin, (*origins)[range.end - 1].end};
  if (origins->empty()) return {};
  const size_t place = range.begin < origins->size() ? (*origins)[range.begin].begin : origins->back().end;
  return {place, place};
}

TextPart whole_text(std::string_view text, bool follow_origins) {
  TextPart part{.text = std::string(text), .at_start = true, .whole = text.size()};
  if (!follow_origins) return part;
  part.origins.emplace();
  for_each_character(text, [&](char32_t, size_t at, size_t length) {
    part.origins->resize(at + length, {at, at + length});
  });
  return part;
}

void Rewriting::keep(ByteRange range) {
  text.append(part_.text, range.begin, range.end - range.begin);
  if (!origins_) return;
  const auto first = part_.origins->begin();
  origins_->insert(origins_->end(), first + static_cast<ptrdiff_t>(range.begin),
                   first + static_cast<ptrdiff_t>(range.end));
}

void Rewriting::finish() {
  part_.text = std::move(text);
  part_.origins = std::move(origins_);
}

void replace_all(TextPart& part, const std::vector<ByteRange>& matches, std::string_view content) {
  Rewriting rewriting(part);
  size_t done = 0;
  for (const ByteRange& match : matches) {
    rewriting.keep({done, match.begin});
    rewriting.text += content;
    rewriting.from(match);
    done = match.end;
  }
  rewriting.keep({done, part.text.size()});
  rewriting.finish();
}

void put_in_front(TextPart& part, std::string_view text) {
  check_growth(part.whole, part.text.size() + text.size());
  if (part.origins) part.origins->insert(part.origins->begin(), text.size(), part.origin_of({}));
  part.text.insert(0, text);
}

void bytes_to_alphabet(TextPart& part) {
  static constexpr auto alphabet = byte_alphabet();
  Rewriting rewriting(part);
  for (size_t at = 0; at < part.text.size(); ++at) {
    append_utf8(rewriting.text, alphabet[static_cast<uint8_t>(part.text[at])]);
    rewriting.from({at, at + 1});
  }
  rewriting.finish();
}

}  // namespace vkformer
