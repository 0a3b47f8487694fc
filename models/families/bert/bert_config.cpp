#include <nlohmann/json.hpp>

#include "models/families/bert/bert_parameters.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Head = BertConfig::Head;

constexpr int64_t most_width = 1 << 20, most_positions = 1 << 24, most_layers = 10000, most_rows = 1 << 24;

/// What else Hugging Face's modules could do with these weights.
void refuse_options(const JsonObject& json) {
  for (const char* key : {"is_decoder", "add_cross_attention"})
    check(!boolean_or(json, key, false), "{}: {} is not supported", json.name(), key);
  check(integer_or(json, "chunk_size_feed_forward", 0, 0, most_positions) == 0,
        "{}: chunk_size_feed_forward is not supported; 0 gives the same results", json.name());
  const std::string positions = string_or(json, "position_embedding_type", "absolute");
  check(positions == "absolute", "{}: position_embedding_type '{}' is not supported; absolute is", json.name(),
        printable(positions, 60));
}

/// What transformers has as constants for MPNet, whatever the config says.
void refuse_other_constants(const JsonObject& json) {
  const int64_t padding = integer_or(json, "pad_token_id", 1, 0, most_rows);
  check(padding == 1,
        "{}: the id of padding is {}, and MPNet's positions count what is not 1; take a tokenizer of its own",
        json.name(), padding);
  const int64_t buckets = integer_or(json, "relative_attention_num_buckets", bert::bucket_count, 0, most_rows);
  check(buckets == bert::bucket_count, "{}: relative_attention_num_buckets {} is not supported; {} is", json.name(),
        buckets, bert::bucket_count);
}

void read_bert(const JsonObject& json, BertConfig& c) {
  refuse_options(json);
  const bool roberta = c.is_roberta();
  if (c.is_electra()) c.width = 256, c.heads = 4, c.inner = 1024;
  c.vocabulary = integer_or(json, "vocab_size", roberta ? 50265 : c.is_mpnet() ? 30527 : 30522, 1, most_rows);
  c.width = integer_or(json, "hidden_size", c.width, 1, most_width);
  c.layers = integer_or(json, "num_hidden_layers", c.layers, 1, most_layers);
  c.heads = integer_or(json, "num_attention_heads", c.heads, 1, most_width);
  c.inner = integer_or(json, "intermediate_size", c.inner, 1, 4 * most_width);
  c.segments = c.is_mpnet() ? 0 : integer_or(json, "type_vocab_size", 2, 1, most_rows);
  if (c.is_electra()) {
    const int64_t size = integer_or(json, "embedding_size", 128, 1, most_width);
    if (size != c.width) c.embedding_size = size;
  }
  c.activation = activation_of(json, "hidden_act", "gelu");
  c.epsilon = number_or(json, "layer_norm_eps", c.epsilon, 0, 1);
  c.dropout = number_or(json, "hidden_dropout_prob", c.dropout, 0, 0.99);
  c.attention_dropout = number_or(json, "attention_probs_dropout_prob", c.attention_dropout, 0, 0.99);
  c.head_dropout = c.dropout;
  if (c.head == Head::answer)
    c.head_dropout = 0;
  else if (!c.is_mpnet())
    c.head_dropout = number_or(json, "classifier_dropout", c.dropout, 0, 0.99);
  const int64_t rows = integer_or(json, "max_position_embeddings", 512, 1, most_positions);
  if (c.is_mpnet()) refuse_other_constants(json);
  if (roberta || c.is_mpnet()) c.first_position = integer_or(json, "pad_token_id", 1, 0, c.vocabulary - 1) + 1;
  check(rows > c.first_position, "{}: max_position_embeddings {} leaves no position behind pad_token_id {}",
        json.name(), rows, c.first_position - 1);
  c.context = rows - c.first_position;
}

void read_distilbert(const JsonObject& json, BertConfig& c) {
  c.vocabulary = integer_or(json, "vocab_size", 30522, 1, most_rows);
  c.context = integer_or(json, "max_position_embeddings", 512, 1, most_positions);
  c.segments = 0;
  c.width = integer_or(json, "dim", c.width, 1, most_width);
  c.layers = integer_or(json, "n_layers", 6, 1, most_layers);
  c.heads = integer_or(json, "n_heads", c.heads, 1, most_width);
  c.inner = integer_or(json, "hidden_dim", c.inner, 1, 4 * most_width);
  c.activation = activation_of(json, "activation", "gelu");
  c.sinusoidal = boolean_or(json, "sinusoidal_pos_embds", false);
  c.dropout = number_or(json, "dropout", c.dropout, 0, 0.99);
  c.attention_dropout = number_or(json, "attention_dropout", c.attention_dropout, 0, 0.99);
  c.head_dropout = c.dropout;
  if (c.head == Head::sequence) c.head_dropout = number_or(json, "seq_classif_dropout", 0.2, 0, 0.99);
  if (c.head == Head::answer) c.head_dropout = number_or(json, "qa_dropout", 0.1, 0, 0.99);
}

nlohmann::json bert_json(const BertConfig& c) {
  nlohmann::json json = {{"hidden_size", c.width},
                         {"num_hidden_layers", c.layers},
                         {"num_attention_heads", c.heads},
                         {"intermediate_size", c.inner},
                         {"max_position_embeddings", c.context + c.first_position},
                         {"hidden_act", name_of(c.activation)},
                         {"layer_norm_eps", c.epsilon},
                         {"hidden_dropout_prob", c.dropout},
                         {"attention_probs_dropout_prob", c.attention_dropout}};
  if (c.first_position > 0) json["pad_token_id"] = c.first_position - 1;
  if (c.is_mpnet()) {
    json["relative_attention_num_buckets"] = bert::bucket_count;
    return json;
  }
  if (c.is_electra()) json["embedding_size"] = c.embedding_width();
  json["type_vocab_size"] = c.segments;
  if (c.head == Head::sequence || c.head == Head::tokens) json["classifier_dropout"] = c.head_dropout;
  return json;
}

nlohmann::json distilbert_json(const BertConfig& c) {
  nlohmann::json json = {{"dim", c.width},
                         {"n_layers", c.layers},
                         {"n_heads", c.heads},
                         {"hidden_dim", c.inner},
                         {"max_position_embeddings", c.context},
                         {"activation", name_of(c.activation)},
                         {"sinusoidal_pos_embds", c.sinusoidal},
                         {"dropout", c.dropout},
                         {"attention_dropout", c.attention_dropout}};
  if (c.head == Head::sequence) json["seq_classif_dropout"] = c.head_dropout;
  if (c.head == Head::answer) json["qa_dropout"] = c.head_dropout;
  return json;
}

}  // namespace

BertConfig BertConfig::from_json(const JsonObject& json) {
  BertConfig c;
  c.family = require_string(json, "model_type");
  c.head = head_of(json, c.family);
  c.tied = boolean_or(json, "tie_word_embeddings", true);
  const bool distilled = c.family == "distilbert";
  if (distilled)
    read_distilbert(json, c);
  else
    read_bert(json, c);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.classes = classes_of_head(json, c.head);
  const char* width_key = distilled ? "dim" : "hidden_size";
  const char* heads_key = distilled ? "n_heads" : "num_attention_heads";
  check(c.width % c.heads == 0, "{}: {} {} is not a multiple of {} {}", json.name(), width_key, c.width, heads_key,
        c.heads);
  check(c.width / c.heads <= 256, "{}: heads of width {} ({} {} / {} {}); at most 256 is supported", json.name(),
        c.width / c.heads, width_key, c.width, heads_key, c.heads);
  return c;
}

nlohmann::json BertConfig::to_json() const {
  nlohmann::json json = family == "distilbert" ? distilbert_json(*this) : bert_json(*this);
  json.update(head_keys(family, head, classes));
  json.update({{"vocab_size", vocabulary},
               {"tie_word_embeddings", tied},
               {"initializer_range", deviation},
               {"torch_dtype", "float32"}});
  return json;
}

}  // namespace vkformer
