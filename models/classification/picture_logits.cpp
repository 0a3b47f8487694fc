#include "models/classification/picture_logits.h"

#include <fmt/format.h>

#include "models/families/vision/encoder_stack.h"
#include "models/stored_weights.h"

namespace vkformer {

Program& PictureLogits::program(int64_t pictures) {
  for (const Recorded& known : programs_)
    if (known.pictures == pictures) return *known.program;
  Graph graph;
  Value logits = add_logits(graph, model_, add_inputs(graph, model_, {.rows = pictures}));
  if (graph.shape(logits).rank() == 3) logits = first_rows(graph, logits);
  graph.mark_output(logits, "logits");
  programs_.push_back(
      {pictures, backend_.compile(as_stored(std::move(graph), model_, backend_.facts()), store_, {}, workspace_)});
  return *programs_.back().program;
}

std::vector<std::vector<float>> PictureLogits::of(std::span<const std::vector<float>> pictures) {
  std::vector<float> patches;
  for (const std::vector<float>& picture : pictures) patches.insert(patches.end(), picture.begin(), picture.end());
  Program& chosen = program(std::ssize(pictures));
  chosen.write("source", patches);
  chosen.run();
  const std::vector<float> logits = chosen.read("logits");
  const size_t columns = logits.size() / pictures.size();
  check_results(logits, columns);
  std::vector<std::vector<float>> rows;
  for (size_t i = 0; i < pictures.size(); ++i) {
    const std::span row = std::span(logits).subspan(i * columns, columns);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<std::pair<std::string, const Program*>> PictureLogits::programs() const {
  std::vector<std::pair<std::string, const Program*>> named;
  for (const Recorded& recorded : programs_)
    named.emplace_back(fmt::format("{} picture{}", recorded.pictures, recorded.pictures == 1 ? "" : "s"),
                       recorded.program.get());
  return named;
}

}  // namespace vkformer
