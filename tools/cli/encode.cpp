// `vkformer encode` and `decode`: texts as a tokenizer's ids, and back.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "models/data/lines.h"
#include "models/data/token_sequence.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/token_ids.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

void write_token_file(const EncodeFlags& flags, const TokenizerFiles& files, const Tokenizer& tokenizer) {
  if (std::filesystem::path(flags.out).extension() != ".safetensors")
    throw UsageError("--out writes a .safetensors file; give it such a name");
  if (flags.file == "-") throw UsageError("--out needs the text in a file, not on standard input");
  const MappedFile text(flags.file);
  const std::vector<int32_t> ids = encode_sections(tokenizer, text.text(), flags.file);
  write_tokens(flags.out, ids, tokenizer.size(), files.print());
  vkformer::print("{}: {} tokens of {} bytes\n", flags.out, ids.size(), text.text().size());
}

}  // namespace

void encode(const EncodeFlags& flags) {
  const std::filesystem::path folder = resolve_tokenizer_folder(flags.model);
  if (!flags.out.empty()) {
    const auto files = TokenizerFiles::load(folder);
    return write_token_file(flags, files, files.tokenizer());
  }
  const PromptText tokenizer(folder);
  for (const std::string& line : flags.text&&* flags.text != "-" ? std::vector{*flags.text} : read_lines(flags.file)) {
    const Encoding encoding = tokenizer.encode_line(line, flags.special);
    if (flags.json)
      vkformer::print("{}\n",
                      nlohmann::json{{"text", line}, {"ids", encoding.ids}, {"tokens", encoding.tokens}}.dump());
    else
      vkformer::print("{}\n", fmt::join(encoding.ids, " "));
    check_written();
  }
}

void decode(const DecodeFlags& flags) {
  const PromptText tokenizer(resolve_tokenizer_folder(flags.model));
  const std::vector<std::string> lines = flags.ids ? std::vector{*flags.ids} : read_lines(flags.file);
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = flags.ids ? "--ids:" : fmt::format("{}:{}:", name_of_lines(flags.file), i + 1);
    // encode makes an empty line of an empty line.
    const bool empty = !flags.ids && lines[i].find_first_not_of(' ') == std::string::npos;
    const std::vector<int32_t> ids = empty ? std::vector<int32_t>() : parse_ids(lines[i], place);
    for (const int32_t id : ids)
      check(id < tokenizer.size(), "{} the tokenizer has {} tokens and none with the id {}", place, tokenizer.size(),
            id);
    const std::string text = flags.special ? tokenizer.decode_all(ids) : tokenizer.decode(ids);
    if (flags.json) {
      std::vector<std::string> tokens;
      for (const int32_t id : ids) tokens.push_back(tokenizer.piece(id));
      vkformer::print("{}\n", nlohmann::json{{"ids", ids}, {"tokens", tokens}, {"text", text}}.dump());
    } else {
      vkformer::print("{}\n", text);
    }
  }
  check_output();
}

}  // namespace vkformer
