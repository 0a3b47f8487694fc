#pragma once
// What a model learns of a conversation: what the assistant says.

#include "models/chat/chat_template.h"
#include "models/data/prompt_rows.h"

namespace vkformer {

/// The text that the template makes of a conversation, in stretches, of which the assistant's are learned, up to what
/// ends them: what the template marks by {% generation %} or, where it marks nothing, what stands between the text of
/// the messages before, with the beginning of an answer, and the text with the answer. Answers that the whole
/// conversation shows otherwise (templates drop the thoughts of earlier ones) are not learned. Throws Error when
/// nothing is, and like ChatTemplate::render().
std::vector<TextStretch> learned_turns(const ChatTemplate& chat, const Conversation& conversation);

}  // namespace vkformer
