#pragma once
// Files of which of two texts is preferred, as people keep them for preference optimisation: JSON lines with
//
//   {"prompt": "..", "chosen": "..", "rejected": ".."}          the prompt may be within both instead
//   {"prompt": [{"role": "user", ..}], "chosen": [{"role": "assistant", ..}], "rejected": [..]}
//   {"chosen": [{"role": "user", ..}, ..], "rejected": [..]}    whole conversations; "tools" may go with them

#include "models/data/prompt_rows.h"

namespace vkformer {

struct PreferenceRow {
  PromptRow chosen, rejected;
};

struct PreferenceRows {
  std::string name;  ///< what errors call the file
  std::vector<PreferenceRow> rows;
};

/// The rows of a file's content; empty lines are left out, other keys ignored. Throws Error naming file and line.
PreferenceRows read_preference_rows(std::string_view content, const std::string& name);

}  // namespace vkformer
