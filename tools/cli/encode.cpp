// `vkformer encode`: lines as a tokenizer's ids.

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "models/data/lines.h"
#include "models/text/tokenizer.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

void encode(const EncodeFlags& flags) {
  constexpr const char* file = "tokenizer.json";
  // A tokenizer may lie alone.
  const std::filesystem::path own = std::filesystem::path(flags.model) / file;
  const Tokenizer tokenizer =
      Tokenizer::load(std::filesystem::exists(own) ? own : resolve_model_folder(flags.model) / file);
  for (const std::string& line : flags.text ? std::vector{*flags.text} : read_lines("-")) {
    const Encoding encoding = tokenizer.encode(line, flags.special);
    if (flags.json)
      print("{}\n", nlohmann::json{{"text", line}, {"ids", encoding.ids}, {"tokens", encoding.tokens}}.dump());
    else
      vkformer::print("{}\n", fmt::join(encoding.ids, " "));
  }
  check_output();
}

}  // namespace vkformer
