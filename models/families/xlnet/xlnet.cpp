#include "models/families/xlnet/xlnet.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/families/layers.h"
#include "models/families/xlnet/xlnet_parameters.h"
#include "shaders/add_bias/add_bias.h"
#include "shaders/embedding/embedding.h"
#include "shaders/matmul/matmul.h"
#include "shaders/relative_shift/relative_shift.h"
#include "shaders/reshape/reshape.h"
#include "shaders/slice/slice.h"
#include "shaders/swap_axes/swap_axes.h"
#include "shaders/visible_keys/visible_keys.h"

namespace vkformer {

using namespace xlnet;

namespace {

constexpr const char* table_name = "distances.table";
constexpr int64_t query_stream = int64_t{1} << 20, head_stream = 2 * query_stream;  ///< dropout draws from here on

/// What attention sees of a pass: a padded position sees itself, too.
Pass content_of(Graph& graph, Pass pass) {
  if (pass.mask && graph.shape(pass.mask).rank() == 2)
    pass.mask = visible_keys(graph, pass.mask, MaskRule::present_or_self);
  return pass;
}

Pass query_of(Pass pass) {
  pass.mask = pass.query_mask;
  return pass;
}

/// One pass through XLNet in a graph: h is the content stream, g the query stream of the predicted positions.
class Builder {
 public:
  Builder(Graph& graph, const XlnetConfig& config, const Pass& pass)
      : graph_(graph),
        config_(config),
        content_pass_(content_of(graph, pass)),
        query_pass_(query_of(pass)),
        content_(graph, content_pass_),
        query_(graph, query_pass_, query_stream) {}

  Value hidden() {
    const Pass& pass = content_pass_;
    const Value tokens = content_.tensor(tokens_name, {config_.vocabulary, config_.width});
    Value h = content_.drop(embedding(graph_, tokens, pass.ids), config_.dropout);
    Value g = pass.predicted ? query_.drop(no_content(), config_.dropout) : Value{};
    distances_ = content_.drop(distances(graph_.shape(pass.ids)[1]), config_.dropout);
    for (int64_t layer = 0; layer < config_.layers; ++layer) {
      const std::string name = layer_name(layer);
      const Graph::Scope scope(graph_, fmt::format("layer.{}", layer));
      const Keys keys = keys_of(h, name + ".rel_attn");
      // Nobody asks for the content stream's last layer where there are two.
      if (!g || layer + 1 < config_.layers) h = block(content_, h, keys, name);
      if (g) {
        const Graph::Scope query(graph_, "query");
        g = block(query_, g, keys, name);
      }
    }
    return g ? query_.drop(g, config_.dropout) : content_.drop(h, config_.dropout);
  }

 private:
  /// Of one layer, for both streams.
  struct Keys {
    Value k, v;       // [B, T, H * D]
    Value distances;  // [H, 2 T, D]
    Value segments;   // [H, 2, D]: of the same, of another segment; absent when the pass has none
  };

  /// mask_emb at each of the P predicted positions.
  Value no_content() {
    const Value mask = reshape(graph_, content_.tensor(mask_name, {1, 1, config_.width}), {1, config_.width});
    const Shape shape = graph_.shape(content_pass_.predicted);
    // Row 0 of a table of positions beside a token that counts nothing: the ids give only the number of rows.
    const Value ids = reshape(graph_, content_pass_.predicted, {shape.elements(), 1});
    const Value rows = embedding(graph_, mask, ids, {.position_table = mask, .scale = 0});
    return reshape(graph_, rows, {shape[0], shape[1], config_.width});
  }

  /// Of the distances from T to -T + 1, [C, 2 T]. All sequences of a batch share what dropout leaves of it.
  Value distances(int64_t positions) {
    const Value table = content_.constant(table_name, {config_.width, 2 * XlnetConfig::context});
    return slice(graph_, table, XlnetConfig::context - positions, 2 * positions);
  }

  /// Projections are stored [C, H, D].
  Value weight(const std::string& name) {
    const int64_t H = config_.heads, D = config_.head_width();
    return reshape(graph_, content_.tensor(name, {config_.width, H, D}), {config_.width, H * D});
  }

  Value heads_first(Value x) { return content_.heads_first(x, config_.heads); }

  Keys keys_of(Value h, const std::string& name) {
    Keys keys{.k = matmul(graph_, h, weight(name + ".k")),
              .v = matmul(graph_, h, weight(name + ".v")),
              .distances = heads_first(matmul(graph_, distances_, weight(name + ".r"), {.transpose_a = true})),
              .segments = {}};
    if (content_pass_.segments)
      keys.segments =
          swap_axes(graph_, content_.tensor(name + ".seg_embed", {2, config_.heads, config_.head_width()}), 0);
    return keys;
  }

  Value biased(Value q, const std::string& name) {
    const Value bias = content_.tensor(name, {config_.heads, config_.head_width()});
    return add_bias(graph_, q, reshape(graph_, bias, {graph_.shape(bias).elements()}));
  }

  /// What distance and segment add to the scores of q [B, T, H * D]: [B, H, T, T].
  Value relative(Value q, const Keys& keys, const std::string& name) {
    const auto scores = [&](const char* bias, Value heads) {
      return matmul(graph_, heads_first(biased(q, name + bias)), heads, {.transpose_b = true});
    };
    const Value position = scores(".r_r_bias", keys.distances);
    const Value segment = keys.segments ? scores(".r_s_bias", keys.segments) : Value{};
    return relative_shift(
        graph_, position, segment, content_pass_.segments,
        {.batches = graph_.shape(q)[0], .scale = 1 / std::sqrt(static_cast<double>(config_.head_width()))});
  }

  /// x is the content stream [B, T, C] or the query stream [B, P, C].
  Value block(Layers& stream, Value x, const Keys& keys, const std::string& layer) {
    x = stream.layer_norm(attend(stream, x, keys, layer + ".rel_attn"), layer + ".rel_attn.layer_norm",
                          config_.epsilon);
    const Value inner = stream.linear(x, layer + ".ff.layer_1", config_.inner,
                                      {.activation = config_.activation, .dropout = config_.dropout});
    const Value outer =
        stream.linear(inner, layer + ".ff.layer_2", config_.width, {.dropout = config_.dropout, .residual = x});
    return stream.layer_norm(outer, layer + ".ff.layer_norm", config_.epsilon);
  }

  Value attend(Layers& stream, Value x, const Keys& keys, const std::string& name) {
    Value q = matmul(graph_, x, weight(name + ".q"));
    if (&stream == &query_) q = spread(q, graph_.shape(keys.k));
    Value y = stream.self_attention(
        {biased(q, name + ".r_w_bias")}, {keys.k}, {keys.v},
        {.heads = config_.heads, .head_width = config_.head_width(), .causal = false, .bias = relative(q, keys, name)},
        config_.dropout, "");
    if (&stream == &query_) y = gather(y);
    const Graph::Scope scope(graph_, "o");
    return stream.drop(matmul(graph_, y, weight(name + ".o"), {.transpose_b = true}), config_.dropout, x);
  }

  /// Rows of the predictions [B, P, ..] to their positions in `shape`, where the distances are those of the keys.
  Value spread(Value rows, Shape shape) {  // a copy: the graph moves its own when it grows
    return reshape(graph_, scatter_rows(graph_, rows, content_pass_.predicted, shape.rows()), shape);
  }
  Value gather(Value x) {
    const Shape& shape = graph_.shape(x);
    return embedding(graph_, reshape(graph_, x, {shape.rows(), shape.columns()}), content_pass_.predicted);
  }

  Graph& graph_;
  const XlnetConfig& config_;
  const Pass content_pass_, query_pass_;
  Layers content_, query_;
  Value distances_;  ///< [C, 2 T]
};

/// Logits of the classes, from one position of each sequence.
Value classify(Graph& graph, const XlnetConfig& config, const Pass& pass, Value hidden) {
  const Graph::Scope scope(graph, "classifier");
  Layers layers(graph, pass, head_stream);
  const Shape shape = graph.shape(hidden);
  const int64_t C = config.width;
  Value x =
      slice(graph, reshape(graph, hidden, {shape[0], shape[1] * C}), config.summary_first ? 0 : (shape[1] - 1) * C, C);
  x = layers.drop(x, config.summary_first_dropout);
  if (config.summary_project) x = layers.linear(x, "sequence_summary.summary", C);
  x = layers.drop(activate(graph, config.summary_activation, x), config.summary_last_dropout);
  return layers.linear(x, "logits_proj", static_cast<int64_t>(config.classes.size()));
}

}  // namespace

std::vector<float> distance_table(const XlnetConfig& config) {
  constexpr int64_t context = XlnetConfig::context;
  const int64_t C = config.width;
  std::vector<float> table(static_cast<size_t>(C * 2 * context));
  for (int64_t c = 0; c < C; ++c) {
    const bool sine = c < C / 2;
    const double exponent = 2 * static_cast<double>(sine ? c : c - C / 2) / static_cast<double>(C);
    const double frequency = std::pow(10000.0, -exponent);
    for (int64_t i = 0; i < 2 * context; ++i) {
      int64_t distance = context - i;
      if (config.farthest > 0) distance = std::clamp(distance, -config.farthest, config.farthest);
      const double angle = static_cast<double>(distance) * frequency;
      table[static_cast<size_t>(c * 2 * context + i)] = static_cast<float>(sine ? std::sin(angle) : std::cos(angle));
    }
  }
  return table;
}

Model make_xlnet(const XlnetConfig& config) {
  const bool classifier = config.head == XlnetConfig::Head::classifier;
  Model model{.family = "xlnet",
              .task = classifier ? Task::classify : Task::masked,
              .parameters = parameters_of(config),
              .vocabulary = config.vocabulary,
              .context = XlnetConfig::context,
              .layers = config.layers,
              .segments = XlnetConfig::segments,
              .padding_in_front = classifier && !config.summary_first,
              .query_stream = !classifier,
              .dropout_keys = {"dropout"}};
  if (classifier)
    model.dropout_keys.insert(model.dropout_keys.end(), {"summary_first_dropout", "summary_last_dropout"});
  model.constants.push_back(
      {table_name, {{config.width, 2 * XlnetConfig::context}}, [config] { return distance_table(config); }});
  model.config = std::make_shared<const nlohmann::json>(config.to_json());
  model.hidden = [config](Graph& graph, const Pass& pass) { return Builder(graph, config, pass).hidden(); };
  model.head = [config, classifier](Graph& graph, const Pass& pass, Value hidden) {
    if (classifier) return classify(graph, config, pass, hidden);
    const Graph::Scope scope(graph, "lm_loss");
    const Value weight =
        graph.persistent(config.tied ? tokens_name : "lm_loss.weight", {config.vocabulary, config.width});
    const Value bias = graph.persistent("lm_loss.bias", {config.vocabulary});
    return matmul(graph, hidden, weight, {.transpose_b = true, .bias = bias});
  };
  return model;
}

}  // namespace vkformer
