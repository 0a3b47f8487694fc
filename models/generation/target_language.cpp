#include "models/generation/target_language.h"

#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

bool lacks_target_language(const GenerationConfig& config, const Languages& languages, std::string_view family) {
  const bool started = languages.start_decoders_of(family) && config.decoder_start_token_id &&
                       languages.contains(*config.decoder_start_token_id);
  return languages.of_texts() && !started && !config.forced_bos_token_id;
}

void write_language(GenerationConfig& config, const TemplateToken& language, const Languages& languages,
                    std::string_view family) {
  if (languages.place() == Languages::Place::written) return;
  check(languages.of_texts(), "the tokenizer has {}, but its texts have no token of their language",
        in_quotes(language.text));
  const bool decoder_starts = languages.start_decoders_of(family);
  const auto id = static_cast<int32_t>(language.id);
  if (decoder_starts) config.decoder_start_token_id = id;
  if (!decoder_starts || config.forced_bos_token_id) config.forced_bos_token_id = id;
}

}  // namespace vkformer
