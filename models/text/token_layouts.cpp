#include "models/text/token_layouts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "models/text/sentinels.h"
#include "models/text/template_processing.h"
#include "runtime/check.h"

namespace vkformer {

namespace {

using nlohmann::json;

/// Those that Whisper's texts end, begin and are told times with.
std::vector<SpecialToken> speech_tokens() {
  std::vector<SpecialToken> tokens{{"<|endoftext|>", {"bos_token", "eos_token", "pad_token"}},
                                   {"<|startoftranscript|>", {}},
                                   {"<|startofprev|>", {}},
                                   {"<|nospeech|>", {}},
                                   {"<|notimestamps|>", {}}};
  constexpr int64_t window = 30 * 50;  // times of 20 ms
  for (int64_t time = 0; time <= window; ++time)
    tokens.push_back({fmt::format("<|{}.{:02}|>", time / 50, time % 50 * 2), {}});
  return tokens;
}

/// By TokenizerTraining::Layout.
const std::array<TokenLayout, 6>& layouts() {
  const SpecialToken padding{"<pad>", {"pad_token"}}, end{"</s>", {"eos_token"}}, unknown{"<unk>", {"unk_token"}};
  const SentencePieceOptions padding_first = {{"pad_id", "0"}, {"eos_id", "1"}, {"unk_id", "2"}, {"bos_id", "-1"}};
  static const std::array<TokenLayout, 6> all{
      TokenLayout{.name = "translation",
                  .special = {padding, end, unknown},
                  .options = padding_first,
                  .single = "A:0 </s>:0",
                  .pair = "A:0 </s>:0 B:0 </s>:0"},
      TokenLayout{.name = "bert",
                  .special = {{"[PAD]", {"pad_token"}},
                              {"[UNK]", {"unk_token"}},
                              {"[CLS]", {"cls_token"}},
                              {"[SEP]", {"sep_token"}},
                              {"[MASK]", {"mask_token"}}},
                  .options = {{"pad_id", "0"},
                              {"pad_piece", "[PAD]"},
                              {"unk_id", "1"},
                              {"unk_piece", "[UNK]"},
                              {"bos_id", "2"},
                              {"bos_piece", "[CLS]"},
                              {"eos_id", "3"},
                              {"eos_piece", "[SEP]"},
                              {"control_symbols", "[MASK]"}},
                  .single = "[CLS]:0 A:0 [SEP]:0",
                  .pair = "[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1",
                  .types = true},
      TokenLayout{.name = "xlnet",
                  .special = {unknown,
                              {"<s>", {"bos_token"}},
                              end,
                              {"<cls>", {"cls_token"}},
                              {"<sep>", {"sep_token"}},
                              padding,
                              {"<mask>", {"mask_token"}},
                              {"<eod>", {}},
                              {"<eop>", {}}},
                  .options = {{"unk_id", "0"},
                              {"bos_id", "1"},
                              {"eos_id", "2"},
                              {"pad_id", "5"},
                              {"control_symbols", "<cls>,<sep>,<mask>,<eod>,<eop>"}},
                  .single = "A:0 <sep>:0 <cls>:2",
                  .pair = "A:0 <sep>:0 B:1 <sep>:1 <cls>:2",
                  .types = true,
                  .padding_in_front = true},
      TokenLayout{.name = "t5",
                  .special = {padding, end, unknown},
                  .options = padding_first,
                  .single = "A:0 </s>:0",
                  .pair = "A:0 </s>:0 B:0 </s>:0",
                  .sentinels = 100},
      TokenLayout{.name = "plain", .special = {{"<|endoftext|>", {"bos_token", "eos_token"}}}},
      TokenLayout{.name = "speech", .special = speech_tokens()},
  };
  return all;
}

}  // namespace

const TokenLayout& layout_of(TokenizerTraining::Layout layout) { return layouts()[static_cast<size_t>(layout)]; }

TokenizerTraining::Layout layout_named(std::string_view name) {
  const auto found = std::ranges::find(layouts(), name, &TokenLayout::name);
  check(found != layouts().end(), "there is no layout '{}' of special tokens", name);
  return static_cast<TokenizerTraining::Layout>(found - layouts().begin());
}

std::vector<std::string> TokenLayout::special_texts() const {
  std::vector<std::string> texts;
  for (const SpecialToken& token : special) texts.push_back(token.token);
  return texts;
}

std::vector<std::string> TokenLayout::last_texts() const {
  std::vector<std::string> texts;
  for (size_t number = sentinels; number > 0; --number) texts.push_back(sentinel(number - 1));
  return texts;
}

json TokenLayout::post_processor() const {
  const std::vector<std::string> texts = special_texts();
  return template_processing(single, pair, [&](const std::string& part) {
    return TemplateToken{part, static_cast<uint64_t>(std::ranges::find(texts, part) - texts.begin())};
  });
}

nlohmann::ordered_json TokenLayout::settings() const {
  nlohmann::ordered_json settings = nlohmann::ordered_json::object();
  for (const SpecialToken& token : special) {
    for (const std::string& role : token.roles) settings[role] = token.token;
    if (token.roles.empty()) settings["additional_special_tokens"].push_back(token.token);
  }
  for (size_t number = 0; number < sentinels; ++number)
    settings["additional_special_tokens"].push_back(sentinel(number));
  if (padding_in_front) settings["padding_side"] = "left";
  // transformers would hand the types of tokens to every model, most of which don't take them.
  if (!types) settings["model_input_names"] = {"input_ids", "attention_mask"};
  return settings;
}

}  // namespace vkformer
