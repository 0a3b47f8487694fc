#include "models/data/text_windows.h"

namespace vkformer {

TextWindows::TextWindows(TextSplit text, const Settings& settings)
    : WindowData(std::move(text), settings.context + 1, settings.context,
                 {.rows = settings.rows, .positions = settings.context}, settings) {}

DataBatch TextWindows::assemble(std::span<const Window> windows) const {
  std::vector<int32_t> ids, targets;
  for (const Window& window : windows) {
    ids.insert(ids.end(), window.tokens.begin(), window.tokens.end() - 1);
    targets.insert(targets.end(), window.tokens.begin() + 1, window.tokens.end());
  }
  const auto tokens = std::ssize(ids);
  return {.shape = shape(), .inputs = {{"ids", std::move(ids)}, {"targets", std::move(targets)}}, .tokens = tokens};
}

}  // namespace vkformer
