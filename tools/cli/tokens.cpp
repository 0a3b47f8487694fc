// `vkformer tokens`: a vocabulary of text files, and how well it fits them.

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/data/lines.h"
#include "models/text/text_sections.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_training.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/busy_watch.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

namespace fs = std::filesystem;

TokenizerTraining training_of(const TokensFlags& flags) {
  using Kind = TokenizerTraining::Kind;
  TokenizerTraining training{.size = flags.size, .lowercase = flags.lowercase, .coverage = flags.coverage};
  training.kind = flags.kind == "unigram" ? Kind::unigram : flags.kind == "bpe" ? Kind::bpe : Kind::byte_bpe;
  const bool bytes = training.kind == Kind::byte_bpe;
  training.layout = layout_named(!flags.layout.empty() ? flags.layout : bytes ? "plain" : "translation");
  using Layout = TokenizerTraining::Layout;
  if (bytes != (training.layout == Layout::plain || training.layout == Layout::speech))
    throw UsageError(fmt::format("--kind {} can't have --layout {}; plain and speech are for byte-bpe, and only for it",
                                 flags.kind, flags.layout));
  return training;
}

size_t count_text_words(std::string_view text) {
  size_t words = 0;
  bool blank = true;
  for (const char c : text) {
    const bool was_blank = std::exchange(blank, c == ' ' || (c >= '\t' && c <= '\r'));
    words += was_blank && !blank;
  }
  return words;
}

/// Encodes the texts, or of very many some thousand that are spread evenly.
void print_fit(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  constexpr size_t most = 20'000;
  const size_t step = (texts.size() + most - 1) / most;
  size_t tokens = 0, words = 0, characters = 0, seen = 0;
  for (size_t i = 0; i < texts.size(); i += step, ++seen) {
    tokens += tokenizer.encode(texts[i], false).ids.size();
    words += count_text_words(texts[i]);
    for (const char c : texts[i]) characters += (static_cast<uint8_t>(c) & 0xC0) != 0x80;
  }
  const auto ratio = [](size_t a, size_t b) {
    return static_cast<double>(a) / static_cast<double>(std::max<size_t>(b, 1));
  };
  print("{:.3f} tokens a word, {:.3f} characters a token{}\n", ratio(tokens, words), ratio(characters, tokens),
        seen == texts.size() ? "" : fmt::format(" (measured on {} of {} parts of the text)", seen, texts.size()));
}

}  // namespace

void tokens(const TokensFlags& flags) {
  const TokenizerTraining training = training_of(flags);
  const fs::path file = fs::path(flags.out) / "tokenizer.json";
  check(!fs::exists(file), "'{}' is there already; give another --out", file.generic_string());
  std::vector<std::string> texts;
  for (const std::string& name : flags.files) {
    const MappedFile mapped(name);
    std::vector<std::string> lines = split_lines(mapped.text(), name);  // they are UTF-8
    if (training.kind == TokenizerTraining::Kind::byte_bpe)
      lines = text_sections(without_byte_order_mark(mapped.text()));
    std::ranges::move(lines, std::back_inserter(texts));
  }
  const nlohmann::json content = [&] {
    const BusyWatch watch("the vocabulary is in the making", flags.quiet);
    return train_tokenizer(texts, training);
  }();
  // Read before it is written: what is there works.
  const Tokenizer tokenizer(JsonObject::parse(content.dump(), file.generic_string()));
  save_tokenizer(content, training.layout, flags.out);
  if (tokenizer.size() < training.size && !flags.quiet)
    say("the text has no more than {} tokens of the {} asked for", tokenizer.size(), training.size);
  print("{}: {} tokens ({})\n", file.generic_string(), tokenizer.size(), flags.kind);
  print_fit(tokenizer, texts);
}

}  // namespace vkformer
