#pragma once
// How `vkformer generate` generates: as the flags say, else as the model's folder says, else as is usual here.

#include "models/generation/generation_config.h"
#include "models/model.h"
#include "tools/cli/commands.h"
#include "tools/cli/prompt_text.h"

namespace vkformer {

struct GenerationSettings {
  GenerationConfig config;
  std::string taken;  ///< "from generation_config.json: temperature 0.6, eos_token_id 2"; empty: nothing
};

/// `tokenizer`: of the text that is asked for, nullptr for ids. A decoder's text is drawn where the folder has no
/// generation_config.json (which without do_sample means the likeliest tokens), and has no ids that no text has. Throws
/// Error like find_generation_source and parse_generation_config.
GenerationSettings generation_settings(const GenerateFlags& flags, const std::filesystem::path& folder,
                                       const Model& model, const PromptText* tokenizer);

}  // namespace vkformer
