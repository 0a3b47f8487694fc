#pragma once
// `train --lora r=8,alpha=16,dropout=0.05,targets=q_proj+v_proj,rslora`.

#include "models/adapters/lora.h"

namespace vkformer {

struct LoraFlag {
  LoraConfig config;
  std::vector<std::string> targets;  ///< none: what is usual for the family
};

/// Throws UsageError for anything else.
LoraFlag lora_flag(const std::string& text);

}  // namespace vkformer
