#pragma once
// Which language a translation begins with, by a model that writes many.

#include "models/generation/generation_config.h"
#include "models/text/languages.h"

namespace vkformer {

/// Whether a model of `family` writes languages of which its files name none.
bool lacks_target_language(const GenerationConfig& config, const Languages& languages, std::string_view family);

/// Has the model write that language. One that stands in the source's text (Languages::Place::written) is left to
/// whoever writes that. Throws Error where texts have no token of their language.
void write_language(GenerationConfig& config, const TemplateToken& language, const Languages& languages,
                    std::string_view family);

}  // namespace vkformer
