#include "models/verify/recorded_case.h"
#include "shaders/attention/attention.h"

namespace vkformer {

namespace {

/// Query rows [B, H, T] of attention probabilities, of which those of padded positions are not compared.
RowMask attention_rows(const RowMask& mask, const std::vector<int64_t>& shape) {
  RowMask rows;
  if (mask.empty()) return rows;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t h = 0; h < shape[1]; ++h)
      rows.insert(rows.end(), mask.begin() + b * shape[2], mask.begin() + (b + 1) * shape[2]);
  return rows;
}

}  // namespace

void verify_forward(const RecordedCase& recorded) {
  Graph graph;
  Pass pass = add_inputs(graph, recorded.model(), recorded.batch());
  if (recorded.model().has_encoder())
    graph.mark_output(pass.memory = recorded.model().encode(graph, pass), "encoder_last_hidden_state");
  const Value hidden = recorded.model().hidden(graph, pass);
  graph.mark_output(hidden, "last_hidden_state");
  const Value logits = recorded.model().head(graph, pass, hidden);
  graph.mark_output(logits, "logits");
  const bool pooled = graph.shape(logits).rank() == 2;
  struct Probabilities {
    std::string name;
    const RowMask& mask;
  };
  std::vector<Probabilities> probabilities;
  const std::pair<std::string, std::string_view> places[] = {{"attention.0", ""},
                                                             {"encoder_attention.0", "encoder.0.self"},
                                                             {"decoder_attention.0", "decoder.0.self"},
                                                             {"cross_attention.0", "decoder.0.cross"}};
  const size_t forward_nodes = graph.nodes().size();
  for (const auto& [name, scope] : places) {
    if (!recorded.has(name)) continue;
    for (size_t n = 0; n < forward_nodes; ++n) {
      const Node& node = graph.nodes()[n];
      if (!is_attention(node) || (!scope.empty() && node.scope != scope)) continue;
      graph.mark_output(attention_weights(graph, Node(node)), name);
      probabilities.push_back({name, scope == "encoder.0.self" ? recorded.source_mask() : recorded.mask()});
      break;
    }
  }
  auto program = recorded.backend().compile(std::move(graph), recorded.load());
  Feed inputs = recorded.feed();
  std::erase_if(inputs, [](const auto& input) { return input.first == "targets"; });
  write_feed(*program, inputs);
  program->run();
  const double tolerance = recorded.limit("logits_relative_to_max");
  if (recorded.model().has_encoder())
    recorded.compare("encoder_last_hidden_state", program->read("encoder_last_hidden_state"), tolerance,
                     recorded.source_mask());
  recorded.compare("last_hidden_state", program->read("last_hidden_state"), tolerance, recorded.mask());
  recorded.compare("logits", program->read("logits"), tolerance, pooled ? RowMask{} : recorded.mask());
  for (const Probabilities& place : probabilities)
    recorded.compare(place.name, program->read(place.name), tolerance,
                     attention_rows(place.mask, recorded.shape(place.name)));
}

}  // namespace vkformer
