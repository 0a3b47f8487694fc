#include "models/generation/text_end.h"

#include "models/generation/token_constraint.h"

namespace vkformer {

TextEnd end_of(const GenerationConfig& config, std::span<const int32_t> written, int64_t prompt_length) {
  if (!written.empty() && config.ends(written.back())) return {.by_itself = true};
  if (!config.constraint) return {};
  const bool full = std::ssize(written) >= config.most_new_tokens(prompt_length);
  // A token that is forced is not the form's (see LogitsRules).
  if (config.forced_bos_token_id && prompt_length == 1 && !written.empty()) written = written.subspan(1);
  const bool whole = config.constraint->is_whole(written);
  return {.by_itself = whole && !full, .whole = whole};
}

}  // namespace vkformer
