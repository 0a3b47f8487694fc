#include "models/text/tokenizer.h"

#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

/// Old files do not name the type of their model.
std::string model_type(const JsonObject& model) {
  if (model.has("type")) return require_string(model, "type");
  if (model.has("merges")) return "BPE";
  if (model.has("unk_id")) return "Unigram";
  return model.has("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
}

std::unique_ptr<TokenModel> make_model(const JsonObject& tokenizer) {
  const JsonObject model = require_object(tokenizer, "model");
  const std::string type = model_type(model);
  if (type == "BPE") return make_bpe(model);
  if (type == "WordPiece") return make_word_piece(model);
  if (type == "Unigram") return make_unigram(model);
  fail("{}: models of type {} are not supported", model.name(), in_quotes(type));
}

}  // namespace

std::string Tokenizer::kind_of(const JsonObject& tokenizer) { return model_type(require_object(tokenizer, "model")); }

Tokenizer Tokenizer::load(const std::filesystem::path& path) { return Tokenizer(JsonObject::load(path)); }

Tokenizer::Tokenizer(const JsonObject& tokenizer) : model_(make_model(tokenizer)) {
  const auto part = [&](const char* key) { return require_object(tokenizer, key); };
  if (tokenizer.has("normalizer")) normalizer_ = make_normalizer(part("normalizer"));
  if (tokenizer.has("pre_tokenizer")) pre_tokenizer_ = make_pre_tokenizer(part("pre_tokenizer"));
  if (tokenizer.has("post_processor")) post_processor_ = make_post_processor(part("post_processor"));
  if (tokenizer.has("decoder")) {
    decoder_ = make_decoder(part("decoder"));
    token_text_ = make_token_text(part("decoder"));
  }
  added_ = std::make_unique<AddedTokens>(tokenizer, *model_, normalizer_);
}

Encoding Tokenizer::encode_text(std::string_view text, int32_t type, bool with_spans) const {
  for (size_t at = 0; at < text.size();) {
    const Utf8Step step = read_utf8(text, at);
    check(step.valid, "the text is not UTF-8: byte {} is 0x{:02X}; convert it to UTF-8", at,
          static_cast<uint8_t>(text[at]));
    at += step.length;
  }
  Encoding encoding;
  const auto add = [&](int32_t id, std::string token, const TextPart& part, ByteRange range) {
    encoding.ids.push_back(id);
    encoding.type_ids.push_back(type);
    encoding.tokens.push_back(std::move(token));
    if (!with_spans) return;
    const auto [begin, end] = part.origin_of(range);
    encoding.spans.push_back({begin, end, type});
  };
  const auto add_added = [&](const FoundPart& found) {
    add(found.token->id, found.part.text, found.part, {0, found.part.text.size()});
  };
  const auto add_words = [&](const TextPart& part) {
    for (const TextPart& word : pre_tokenizer_ ? pre_tokenizer_(part) : std::vector<TextPart>{part})
      for (Token& token : model_->tokenize(word.text)) add(token.id, std::move(token.text), word, token.range);
  };
  for (FoundPart& raw : added_->split(whole_text(text, with_spans), false)) {
    if (raw.token != nullptr) {
      add_added(raw);
      continue;
    }
    if (normalizer_) normalizer_(raw.part);
    for (const FoundPart& found : added_->split(raw.part, true))
      if (found.token != nullptr)
        add_added(found);
      else
        add_words(found.part);
  }
  return encoding;
}

Encoding Tokenizer::finish(std::vector<Encoding> texts, bool add_special, bool with_spans) const {
  if (post_processor_) texts = post_processor_(std::move(texts), add_special);
  Encoding all;
  for (Encoding& text : texts) {
    if (with_spans) text.spans.resize(text.ids.size());
    all.append(text);
  }
  return all;
}

Encoding Tokenizer::encode(std::string_view text, bool add_special) const {
  return finish({encode_text(text, 0)}, add_special);
}

Encoding Tokenizer::encode_pair(std::string_view first, std::string_view second, bool add_special) const {
  return finish({encode_text(first, 0), encode_text(second, 1)}, add_special);
}

Encoding Tokenizer::encode_with_spans(std::string_view text, bool add_special) const {
  return finish({encode_text(text, 0, true)}, add_special, true);
}

Encoding Tokenizer::surround(std::vector<Encoding> texts) const {
  for (size_t i = 0; i < texts.size(); ++i) {
    texts[i].type_ids.assign(texts[i].ids.size(), static_cast<int32_t>(i));
    for (TokenSpan& span : texts[i].spans) span.text = static_cast<int>(i);
  }
  return finish(std::move(texts), true, true);
}

Tokenizer::Cut Tokenizer::encode_within(int64_t most, std::string_view first, std::optional<std::string_view> second,
                                        Shorten which) const {
  std::vector<Encoding> texts{encode_text(first, 0)};
  if (second) texts.push_back(encode_text(*second, 1));
  Cut cut{.encoding = finish(texts, true)};
  for (int64_t left = std::ssize(cut.encoding.ids) - most; left > 0; --left) {
    // Of texts of one length the second, as in transformers' longest_first.
    const bool of_first = which == Shorten::first || texts.front().ids.size() > texts.back().ids.size();
    Encoding& longer = of_first ? texts.front() : texts.back();
    check(!longer.ids.empty(),
          "the tokenizer's special tokens around a text{} are more than {}; give it more positions",
          which == Shorten::first && second ? ", and the second one," : "", most);
    longer.ids.pop_back();
    longer.type_ids.pop_back();
    longer.tokens.pop_back();
    cut.was_longer = true;
  }
  if (cut.was_longer) cut.encoding = finish(std::move(texts), true);
  return cut;
}

std::optional<int32_t> Tokenizer::id_of(std::string_view token) const {
  const auto id = model_->id_of(token);
  return id ? id : added_->id_of(token);
}

std::set<int32_t> Tokenizer::special_ids() const {
  std::set<int32_t> ids = added_->special_ids();
  for (int32_t id : encode("").ids) ids.insert(id);
  return ids;
}

std::optional<int32_t> Tokenizer::first_known(std::initializer_list<std::string_view> names) const {
  const std::set<int32_t> special = special_ids();
  std::optional<int32_t> known;
  for (const std::string_view name : names) {
    const auto id = id_of(name);
    if (id && special.contains(*id)) return id;
    if (!known) known = id;
  }
  return known;
}

std::optional<std::string_view> Tokenizer::token_of(int32_t id) const {
  if (const AddedToken* added = added_->find(id)) return added->content;
  return model_->token_of(id);
}

int64_t Tokenizer::size() const { return std::max<int64_t>(model_->size(), added_->last_id() + 1); }

std::optional<std::string_view> Tokenizer::decoded_token(int32_t id, bool skip_special) const {
  const AddedToken* added = added_->find(id);
  const auto token = added ? std::optional<std::string_view>(added->decoded) : model_->token_of(id);
  return token && skip_special && added_->is_special(*token) ? std::nullopt : token;
}

std::optional<std::string> Tokenizer::bytes_of(int32_t id) const {
  check(token_text_ != nullptr,
        "what a token of this tokenizer adds to a text depends on the others, so no grammar can be kept to; tokenizers "
        "of "
        "byte-level BPE and SentencePiece can");
  const auto token = decoded_token(id, true);
  return token ? std::optional(token_text_(std::string(*token))) : std::nullopt;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool skip_special) const {
  std::vector<std::string> tokens;
  for (const int32_t id : ids)
    if (const auto token = decoded_token(id, skip_special)) tokens.emplace_back(*token);
  std::string text;
  if (decoder_)
    for (const std::string& piece : decoder_(std::move(tokens))) text += piece;
  else
    for (size_t i = 0; i < tokens.size(); ++i) text += (i > 0 ? " " : "") + tokens[i];
  return text;
}

TokenStream::TokenStream(const Tokenizer& tokenizer, std::span<const int32_t> before)
    : tokenizer_(tokenizer), ids_(before.begin(), before.end()), shown_(tokenizer.decode(before).size()) {}

std::string TokenStream::push(int32_t id) {
  ids_.push_back(id);
  // Byte tokens become text only once the run of them ends, which tokens that are left out do not do.
  const auto token = tokenizer_.decoded_token(id, true);
  if (!token || byte_of_token(*token) >= 0) return {};
  const std::string text = tokenizer_.decode(ids_);
  size_t end = text.size();
  // A character of several tokens, of which at most three bytes are there, shows as U+FFFD until it is complete.
  for (int i = 0; i < 3 && text.substr(0, end).ends_with(replacement_character); ++i)
    end -= replacement_character.size();
  std::string shown = end > shown_ ? text.substr(shown_, end - shown_) : std::string();
  shown_ = std::max(shown_, end);
  forget(text);
  return shown;
}

void TokenStream::forget(const std::string& text) {
  constexpr size_t most = 24, kept = 8;
  if (ids_.size() <= most) return;
  size_t first = ids_.size() - kept;
  const auto shows = [&](int32_t id) {
    return byte_of_token(tokenizer_.decoded_token(id, true).value_or("")) < 0 && !tokenizer_.decode({{id}}).empty();
  };
  while (first > 0 && !shows(ids_[first])) --first;  // what a run of byte tokens spells, all of them say together
  if (first == 0) return;
  const std::string tail = tokenizer_.decode(std::span(ids_).subspan(first));
  const size_t held = text.size() - shown_;
  if (tail.size() <= held || (held > 0 && !text.ends_with(tail))) return;
  ids_.erase(ids_.begin(), ids_.begin() + static_cast<std::ptrdiff_t>(first));
  shown_ = tail.size() - held;
}

std::string TokenStream::finish() {
  const std::string text = tokenizer_.decode(ids_);
  std::string rest = shown_ < text.size() ? text.substr(shown_) : std::string();
  ids_.clear();
  shown_ = 0;
  return rest;
}

}  // namespace vkformer
