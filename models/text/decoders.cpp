// Each decoder does what the one of that name in the tokenizers library does.

#include "models/text/decoders.h"

#include <charconv>
#include <unordered_map>

#include "models/text/byte_alphabet.h"
#include "models/text/pre_tokenizers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Tokens = std::vector<std::string>;

void replace(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == text.npos) return;
  std::string result;
  size_t done = 0;
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, done)) {
    result.append(text, done, at - done).append(to);
    done = at + from.size();
  }
  text = result.append(text, done);
}

/// A decoder that handles every token by itself; action(token, index, count) changes it.
template <class Action>
TokenDecoder by_token(Action action) {
  return [action](Tokens tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) action(tokens[i], i, tokens.size());
    return tokens;
  };
}

size_t bytes_in(const Tokens& tokens) {
  size_t bytes = 0;
  for (const std::string& token : tokens) bytes += token.size();
  return bytes;
}

std::string join(const Tokens& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

/// The bytes that a token of GPT-2's alphabet stands for; another token stands for its own.
std::string bytes_of(const std::string& token) {
  static const std::unordered_map<char32_t, char> alphabet = [] {
    std::unordered_map<char32_t, char> bytes;
    const auto characters = byte_alphabet();
    for (size_t byte = 0; byte < characters.size(); ++byte) bytes[characters[byte]] = static_cast<char>(byte);
    return bytes;
  }();
  std::string bytes;
  bool all = true;
  for_each_character(token, [&](char32_t c, size_t, size_t) {
    const auto found = alphabet.find(c);
    if (found == alphabet.end())
      all = false;
    else
      bytes += found->second;
  });
  return all ? bytes : token;
}

Tokens decode_byte_level(const Tokens& tokens) {
  std::string bytes;
  for (const std::string& token : tokens) bytes += bytes_of(token);
  return {valid_utf8(bytes)};
}

/// Runs of byte tokens become the text that they spell, or one U+FFFD a byte.
Tokens decode_bytes(const Tokens& tokens) {
  Tokens out;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    bool valid = true;
    for (size_t at = 0; at < bytes.size() && valid;) {
      const Utf8Step step = read_utf8(bytes, at);
      valid = step.valid;
      at += step.length;
    }
    if (valid)
      out.push_back(bytes);
    else
      out.insert(out.end(), bytes.size(), std::string(replacement_character));
    bytes.clear();
  };
  for (const std::string& token : tokens) {
    if (const int byte = byte_of_token(token); byte >= 0) {
      bytes += static_cast<char>(byte);
    } else {
      flush();
      out.push_back(token);
    }
  }
  flush();
  return out;
}

/// Takes away the blanks that splitting at punctuation and contractions left.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> rules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : rules) replace(text, from, to);
}

TokenText make_replacement(const JsonObject& object) {
  return [pattern = make_pattern(object), content = require_string(object, "content")](const std::string& token) {
    TextPart part = whole_text(token, false);
    replace_all(part, pattern(part.text), content);
    return std::move(part.text);
  };
}

TokenDecoder make_word_piece_decoder(const JsonObject& object) {
  const std::string prefix = string_or(object, "prefix", "##");
  const bool cleanup = boolean_or(object, "cleanup", true);
  return by_token([prefix, cleanup](std::string& token, size_t index, size_t) {
    if (index > 0) {
      if (token.starts_with(prefix))
        token.erase(0, prefix.size());
      else
        token.insert(0, 1, ' ');
    }
    if (cleanup) clean_up(token);
  });
}

TokenDecoder make_metaspace_decoder(const JsonObject& object) {
  const std::string mark = require_string(object, "replacement");
  const bool prepended = prepend_scheme(object) != PrependScheme::never;
  return by_token([mark, prepended](std::string& token, size_t index, size_t) {
    replace(token, mark, index == 0 && prepended ? "" : " ");
  });
}

TokenDecoder make_strip_decoder(const JsonObject& object) {
  const std::string content = require_string(object, "content");
  check(!content.empty(), "{}: \"content\" is empty", object.name());
  const int64_t start = integer_or(object, "start", 0, 0, INT32_MAX),
                stop = integer_or(object, "stop", 0, 0, INT32_MAX);
  return by_token([content, start, stop](std::string& token, size_t, size_t) {
    std::string_view left = token;
    for (int64_t i = 0; i < start && left.starts_with(content); ++i) left.remove_prefix(content.size());
    for (int64_t i = 0; i < stop && left.ends_with(content); ++i) left.remove_suffix(content.size());
    token = std::string(left);
  });
}

}  // namespace

std::string valid_utf8(std::string_view bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step step = read_utf8(bytes, at);
    text += step.valid ? bytes.substr(at, step.length) : replacement_character;
    at += step.length;
  }
  return text;
}

int byte_of_token(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || !token.ends_with('>')) return -1;
  int byte = 0;
  const char* end = token.data() + 5;
  const auto [stop, error] = std::from_chars(token.data() + 3, end, byte, 16);
  return error == std::errc() && stop == end && byte >= 0 ? byte : -1;
}

namespace {

TokenDecoder make_one_decoder(const JsonObject& object) {
  const std::string type = require_string(object, "type");
  if (type == "ByteLevel") return decode_byte_level;
  if (type == "ByteFallback") return decode_bytes;
  if (type == "Fuse") return [](const Tokens& tokens) { return Tokens{join(tokens)}; };
  if (type == "WordPiece") return make_word_piece_decoder(object);
  if (type == "Metaspace") return make_metaspace_decoder(object);
  if (type == "Strip") return make_strip_decoder(object);
  if (type == "Replace")
    return by_token([step = make_replacement(object)](std::string& token, size_t, size_t) { token = step(token); });
  if (type == "BPEDecoder")
    return by_token([suffix = string_or(object, "suffix", "</w>")](std::string& token, size_t index, size_t count) {
      replace(token, suffix, index + 1 == count ? "" : " ");
    });
  fail("{}: decoders of type {} are not supported", object.name(), in_quotes(type));
}

/// Sequences in sequences, too, as one.
void each_decoder(const JsonObject& object, const std::function<void(const JsonObject&)>& action) {
  if (require_string(object, "type") != "Sequence") return action(object);
  for (const JsonObject& step : require_objects(object, "decoders")) each_decoder(step, action);
}

}  // namespace

TokenDecoder make_decoder(const JsonObject& object) {
  std::vector<TokenDecoder> steps;
  each_decoder(object, [&](const JsonObject& step) { steps.push_back(make_one_decoder(step)); });
  return [steps](Tokens tokens) {
    const size_t before = bytes_in(tokens);
    for (const TokenDecoder& step : steps) {
      tokens = step(std::move(tokens));
      check_growth(before, bytes_in(tokens));
    }
    return tokens;
  };
}

TokenText make_token_text(const JsonObject& object) {
  std::vector<TokenText> steps;
  bool known = true, fused = false;
  each_decoder(object, [&](const JsonObject& step) {
    const std::string type = require_string(step, "type");
    if (type == "ByteLevel") {
      steps.emplace_back(bytes_of);
    } else if (type == "ByteFallback") {
      steps.emplace_back([](const std::string& token) {
        const int byte = byte_of_token(token);
        return byte >= 0 ? std::string(1, static_cast<char>(byte)) : token;
      });
    } else if (type == "Metaspace") {
      steps.emplace_back([mark = require_string(step, "replacement")](std::string token) {
        replace(token, mark, " ");
        return token;
      });
    } else if (type == "Replace") {
      steps.push_back(make_replacement(step));
    } else if (type == "Fuse") {
      fused = true;
    } else {  // what is stripped off a whole text is at its beginning or end
      known = known && type == "Strip" && fused;
    }
  });
  if (!known) return {};
  return [steps](std::string token) {
    for (const TokenText& step : steps) token = step(std::move(token));
    return token;
  };
}

}  // namespace vkformer
