#include "models/families/decoder/rotary_tables.h"

#include <algorithm>

#include "shaders/reshape/reshape.h"
#include "shaders/rope/rope.h"

namespace vkformer {

namespace {

/// The angles of one of the decoder's rotaries; longrope has two tables.
struct RotaryTable {
  std::string name;
  int64_t positions;
};

RotaryTable rotary_table(const Decoder& d, size_t rotary, bool stretched) {
  const RotaryConfig& angles = d.rotaries[rotary];
  const bool two = angles.stretches(d.context);
  return {fmt::format("rotary.table{}{}", rotary == 0 ? "" : fmt::format(".{}", rotary), stretched ? ".long" : ""),
          two && !stretched ? angles.original_context : d.context};
}

/// The angles that queries turn by where they grow, too.
std::string query_table(const std::string& table) { return table + ".queries"; }

bool is_used(const Decoder& d, size_t rotary) {
  return std::ranges::any_of(d.layers, [&](const Decoder::Layer& layer) {
    const bool attends = layer.mixer == Decoder::Mixer::attention || layer.mixer == Decoder::Mixer::latent_attention;
    return attends && layer.rotary == static_cast<int>(rotary);
  });
}

/// Keys that were turned by one table don't go with queries of another, so the most positions that a cache may ever
/// hold choose it.
int64_t reach_of(Layers& layers, Value x) {
  const Pass& pass = layers.pass();
  return pass.position ? pass.capacity : layers.graph().shape(x)[1];
}

}  // namespace

std::vector<ConstantSpec> rotary_constants(const Decoder& decoder) {
  std::vector<ConstantSpec> constants;
  for (size_t i = 0; i < decoder.rotaries.size(); ++i)
    for (const bool stretched : {false, true}) {
      const RotaryConfig& angles = decoder.rotaries[i];
      if (!is_used(decoder, i) || (stretched && !angles.stretches(decoder.context))) continue;
      const auto [name, positions] = rotary_table(decoder, i, stretched);
      const int64_t width = decoder.turned_by(i);
      constants.push_back(
          {name, {{positions, width}}, [=, angles = angles] { return angles.table(positions, width, stretched); }});
      if (angles.queries_grow(decoder.context))
        constants.push_back({query_table(name), {{positions, width}}, [=, angles = angles] {
                               return angles.query_table(positions, width);
                             }});
    }
  return constants;
}

bool queries_grow(Layers& layers, const Decoder& decoder, Value x, int rotary) {
  return decoder.rotaries[static_cast<size_t>(rotary)].queries_grow(reach_of(layers, x));
}

Value turn_heads(Layers& layers, const Decoder& decoder, Value x, int rotary, const TurningHeads& heads, bool queries) {
  const auto index = static_cast<size_t>(rotary);
  RopeOptions options{.heads = heads.heads,
                      .head_width = heads.width,
                      .rotary_width = heads.turned,
                      .interleaved = decoder.turns_neighbours,
                      .column = heads.column};
  Graph& graph = layers.graph();
  if (const Value angles = layers.pass().angles) {  // a row for each position
    const Shape shape = graph.shape(x);
    const Value rows = reshape(graph, x, {1, shape.rows(), shape.columns()});
    return reshape(graph, rope(graph, rows, angles, options), shape);
  }
  const auto [table, positions] = rotary_table(decoder, index, decoder.rotaries[index].stretches(reach_of(layers, x)));
  const bool growing = queries && queries_grow(layers, decoder, x, rotary);
  options.position = layers.pass().first();
  return rope(graph, x, layers.constant(growing ? query_table(table) : table, {positions, heads.turned}), options);
}

}  // namespace vkformer
