// `vkformer encode`: texts as a tokenizer's ids.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "models/data/lines.h"
#include "models/data/token_sequence.h"
#include "runtime/check.h"
#include "runtime/files/mapped_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

void write_token_file(const EncodeFlags& flags, const TokenizerFiles& files, const Tokenizer& tokenizer) {
  if (std::filesystem::path(flags.out).extension() != ".safetensors")
    throw UsageError("--out writes a .safetensors file; give it such a name");
  if (flags.file == "-") throw UsageError("--out needs the text in a file, not on standard input");
  const MappedFile text(flags.file);
  const std::vector<int32_t> ids = encode_sections(tokenizer, text.text(), flags.file);
  write_tokens(flags.out, ids, tokenizer.size(), std::ssize(text.text()), files.print());
  vkformer::print("{}: {} tokens of {} bytes\n", flags.out, ids.size(), text.text().size());
}

}  // namespace

void encode(const EncodeFlags& flags) {
  const auto files = TokenizerFiles::load(resolve_tokenizer_folder(flags.model));
  const Tokenizer tokenizer = files.tokenizer();
  if (!flags.out.empty()) return write_token_file(flags, files, tokenizer);
  for (const std::string& line : flags.text ? std::vector{*flags.text} : read_lines(flags.file)) {
    const Encoding encoding = tokenizer.encode(line, flags.special);
    if (flags.json)
      vkformer::print("{}\n",
                      nlohmann::json{{"text", line}, {"ids", encoding.ids}, {"tokens", encoding.tokens}}.dump());
    else
      vkformer::print("{}\n", fmt::join(encoding.ids, " "));
    check_written();
  }
}

}  // namespace vkformer
