#pragma once
// Why a text ends, and whether it is whole there.

#include <span>

#include "models/generation/generation_config.h"

namespace vkformer {

struct TextEnd {
  bool by_itself = false;  ///< else for want of tokens
  bool whole = true;       ///< the form that it has to keep to is complete, where there is one

  /// As OpenAI's API calls it.
  const char* reason() const { return by_itself ? "stop" : "length"; }
};

/// `written`: the tokens behind a prompt of so many, or behind a decoder's start id, with the end id where one came.
TextEnd end_of(const GenerationConfig& config, std::span<const int32_t> written, int64_t prompt_length);

}  // namespace vkformer
