#pragma once
// How `vkformer generate` generates: as the flags say, else as the model's folder says, else as is usual here.

#include "models/generation/generation_config.h"
#include "models/model.h"
#include "models/text/prompt_text.h"
#include "tools/cli/generate_flags.h"

namespace vkformer {

struct GenerationSettings {
  GenerationConfig config;
  std::string taken;  ///< "from generation_config.json: temperature 0.6, eos_token_id 2"; empty: nothing
};

/// One rule, whether text or ids are given: tokens are chosen as the flags say, else as generation_config.json does, in
/// which no do_sample means the likeliest; where a folder has no such file a decoder's are drawn, an encoder-decoder's
/// are the likeliest. `tokenizer`: the folder's, nullptr where it has none; a decoder writes no ids that it does not
/// know. Throws Error like find_generation_source and parse_generation_config.
GenerationSettings generation_settings(const GenerateFlags& flags, const std::filesystem::path& folder,
                                       const Model& model, const PromptText* tokenizer);

}  // namespace vkformer
