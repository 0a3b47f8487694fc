#include "tools/cli/tokenizer_files.h"

#include <map>

#include "models/data/lines.h"
#include "models/model_files.h"
#include "models/text/older_tokenizer.h"
#include "models/text/text_sections.h"
#include "models/text/tokenizer_files.h"
#include "runtime/all_cores.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/mapped_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/content_print.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

TokenizerFiles TokenizerFiles::load(const std::filesystem::path& folder) {
  if (is_gguf(folder)) {
    const JsonObject content = load_model_json(folder, tokenizer_file),
                     settings = load_model_json(folder, "tokenizer_config.json");
    return TokenizerFiles(content.value(), content.name(), [content, settings](const std::filesystem::path& to) {
      write_tokenizer_files(to, content.value().dump() + '\n', settings.value());
    });
  }
  std::map<std::string, std::string> contents;
  const auto read = [&](const char* file) {
    if (std::filesystem::exists(folder / file)) contents[file] = MappedFile(folder / file).text();
  };
  for (const char* file : {"tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"}) read(file);
  const JsonObject content = load_model_json(folder, tokenizer_file);
  if (std::filesystem::exists(folder / tokenizer_file)) {
    read(tokenizer_file);
  } else {
    contents[tokenizer_file] = content.value().dump() + '\n';
    for (const char* file : older_tokenizer_files) read(file);
    read("added_tokens.json");
  }
  return TokenizerFiles(content.value(), content.name(), [contents](const std::filesystem::path& to) {
    for (const auto& [file, text] : contents) write_file_atomically(to / file, text);
  });
}

std::optional<TokenizerFiles> TokenizerFiles::load_target(const std::filesystem::path& folder) {
  if (!has_model_json(folder, target_tokenizer_file)) return std::nullopt;
  const JsonObject content = load_model_json(folder, target_tokenizer_file);
  return TokenizerFiles(content.value(), content.name(), {});
}

void TokenizerFiles::write_target(const std::filesystem::path& folder) const {
  write_file_atomically(folder / target_tokenizer_file, content_.dump());
}

Tokenizer TokenizerFiles::tokenizer() const { return Tokenizer(JsonObject::parse(content_.dump(), name_)); }

Languages TokenizerFiles::languages() const { return Languages(JsonObject::make(content_, name_)); }

TokenizerFiles TokenizerFiles::of_languages(const std::string& source, const std::string& target) const {
  const JsonObject before = JsonObject::make(content_, name_);
  const Languages languages(before);
  const TemplateToken &read = languages.find(source), &written = languages.find(target);
  const JsonObject content = languages.tokenizer_of(before, read);
  const nlohmann::json keys = {{"src_lang", language_setting(read.text)}, {"tgt_lang", language_setting(written.text)}};
  return TokenizerFiles(content.value(), name_, [write = write_, content, keys](const std::filesystem::path& to) {
    write(to);
    write_file_atomically(to / tokenizer_file, content.value().dump() + '\n');
    constexpr const char* settings_file = "tokenizer_config.json";
    nlohmann::json settings = nlohmann::json::object();
    if (std::filesystem::exists(to / settings_file)) settings = JsonObject::load(to / settings_file).value();
    settings.update(keys);
    write_file_atomically(to / settings_file, settings.dump(2) + '\n');
  });
}

std::string TokenizerFiles::print() const { return content_print(content_.dump()); }

std::vector<int32_t> encode_sections(const Tokenizer& tokenizer, std::string_view text, const std::string& name) {
  split_lines(text, name);  // says where it is not UTF-8
  const std::vector<std::string> sections = text_sections(without_byte_order_mark(text));
  std::vector<std::vector<int32_t>> ids(sections.size());
  on_all_cores(std::ssize(sections), [&](int64_t index) {
    const auto i = static_cast<size_t>(index);
    ids[i] = tokenizer.encode(sections[i], false).ids;
  });
  std::vector<int32_t> all;
  for (const std::vector<int32_t>& section : ids) all.insert(all.end(), section.begin(), section.end());
  return all;
}

std::optional<int32_t> padding_id(const Tokenizer& tokenizer) {
  return tokenizer.first_known({"<pad>", "[PAD]", "<|endoftext|>"});
}

SpecialIds special_ids(const Tokenizer& tokenizer, const std::string& name) {
  const auto padding = padding_id(tokenizer);
  const auto end = tokenizer.first_known({"</s>", "[SEP]", "<eos>", "<|endoftext|>"});
  check(padding && end, "{} has no token for {}; a tokenizer for pairs needs <pad> and </s>", name,
        padding ? "the end of a text" : "padding");
  return {*padding, *end, *padding};
}

nlohmann::json keys_of(const SpecialIds& ids) {
  return {{"pad_token_id", ids.padding},
          {"eos_token_id", ids.end},
          {"decoder_start_token_id", ids.decoder_start},
          {"forced_eos_token_id", nullptr},
          {"bos_token_id", nullptr}};
}

SpecialIds ids_in(const nlohmann::json& config, const SpecialIds& otherwise) {
  const auto id_in = [&](const char* key, int32_t id) {
    return config.contains(key) && config[key].is_number_integer() ? config[key].get<int32_t>() : id;
  };
  SpecialIds ids{.padding = id_in("pad_token_id", otherwise.padding), .end = id_in("eos_token_id", otherwise.end)};
  ids.decoder_start = id_in("decoder_start_token_id", ids.padding);
  return ids;
}

namespace {

/// Trained embeddings are of the model's own tokens. Where those can't be read nothing is said: another tokenizer may
/// have been given for that.
void say_if_unlike(const std::filesystem::path& given, const std::filesystem::path& model) try {
  if (!has_model_json(model, tokenizer_file)) return;
  const Tokenizer other = TokenizerFiles::load(given).tokenizer(), own = TokenizerFiles::load(model).tokenizer();
  for (int32_t id = 0; id < std::min(other.size(), own.size()); ++id)
    if (const auto there = other.token_of(id).value_or(""), here = own.token_of(id).value_or(""); there != here)
      return say("the tokenizer of {} is not the one that {} was trained with: token {} is {} and was {}",
                 printable(given.generic_string()), printable(model.generic_string()), id, in_quotes(there),
                 in_quotes(here));
} catch (const Error&) {
}

}  // namespace

std::filesystem::path tokenizer_folder(const TrainFlags& flags, const std::filesystem::path& checkpoint) {
  // An adapter that PEFT alone wrote may have none.
  if (!checkpoint.empty() && (flags.lora.empty() || has_model_json(checkpoint, tokenizer_file))) return checkpoint;
  const auto model = flags.from.empty() ? std::filesystem::path() : resolve_model_folder(flags.from);
  if (flags.tokenizer.empty()) return model;
  const auto given = resolve_tokenizer_folder(flags.tokenizer);
  if (!model.empty()) say_if_unlike(given, model);
  return given;
}

TokenizerFiles make_tokenizer(const TrainFlags& flags, TokenizerTraining::Layout layout,
                              const std::vector<std::string>& lines) {
  using Kind = TokenizerTraining::Kind;
  const nlohmann::json content =
      train_tokenizer(lines, {.kind = layout == TokenizerTraining::Layout::speech ? Kind::byte_bpe
                                      : flags.tokenizer_kind == "bpe"             ? Kind::bpe
                                                                                  : Kind::unigram,
                              .layout = layout,
                              .size = flags.vocabulary});
  TokenizerFiles files(content, "the tokenizer that is made", [content, layout](const std::filesystem::path& folder) {
    save_tokenizer(content, layout, folder);
  });
  if (const int64_t size = files.tokenizer().size(); size < flags.vocabulary && flags.given.contains("--vocabulary"))
    say("the text has no more than {} tokens of the {} asked for", size, flags.vocabulary);
  return files;
}

}  // namespace vkformer
