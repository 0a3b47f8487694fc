#include <nlohmann/json.hpp>

#include "models/families/bert/bert_parameters.h"
#include "models/families/bert/nomic.h"
#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Head = BertConfig::Head;

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

/// What DebertaV2Model could do besides, and no model of version 3 does.
void refuse_other_attention(const JsonObject& json, const BertConfig& c) {
  const auto needs = [&](const char* key, bool usual, bool needed) {
    check(boolean_or(json, key, usual) == needed, "{}: {} must be {}, as in DeBERTa v3; else is not supported",
          json.name(), key, needed);
  };
  needs("relative_attention", false, true);
  needs("position_biased_input", true, false);
  needs("share_att_key", false, true);
  if (c.head == Head::masked) needs("legacy", true, true);
  const auto equals = [&](const char* key, int64_t needed, int64_t usual) {
    const int64_t value = integer_or(json, key, usual, 0, most_width);
    check(value == needed, "{}: {} {} is not supported; {} is", json.name(), key, value, needed);
  };
  equals("type_vocab_size", 0, 0);
  equals("conv_kernel_size", 0, 0);
  for (const char* key : {"embedding_size", "pooler_hidden_size"}) equals(key, c.width, c.width);
  equals("attention_head_size", c.width / c.heads, c.width / c.heads);
  const std::string norm = string_or(json, "norm_rel_ebd", "none");
  check(norm == "layer_norm", "{}: norm_rel_ebd '{}' is not supported; layer_norm is", json.name(),
        printable(norm, 60));
  // A text in older files, a list in those of today.
  const std::string kinds = json.has("pos_att_type") ? json.value()["pos_att_type"].dump() : "";
  check(kinds.find("c2p") != kinds.npos && kinds.find("p2c") != kinds.npos,
        "{}: pos_att_type must have c2p and p2c; else is not supported", json.name());
}

void read_deberta(const JsonObject& json, BertConfig& c) {
  refuse_other_attention(json, c);
  c.buckets = std::max<int64_t>(integer_or(json, "position_buckets", -1, -1, most_positions), 0);
  c.farthest = integer_or(json, "max_relative_positions", -1, -1, most_positions);
  if (c.farthest < 1) c.farthest = c.context;
  check(c.buckets == 0 || (c.buckets > 1 && c.buckets / 2 < c.farthest - 1),
        "{}: position_buckets {} must be 2 or more, and half of it less than max_relative_positions {} - 1; -1 is none",
        json.name(), c.buckets, c.farthest);
  c.pooler_activation = activation_of(json, "pooler_hidden_act", "gelu");
  c.pooler_dropout = number_or(json, "pooler_dropout", 0, 0, 0.99);
  if (c.head == Head::sequence) c.head_dropout = number_or(json, "cls_dropout", c.dropout, 0, 0.99);
}

void set_usual_sizes(BertConfig& c) {
  if (c.is_roberta()) c.vocabulary = 50265;
  if (c.is_mpnet()) c.vocabulary = 30527;
  if (c.is_electra()) c.width = 256, c.heads = 4, c.inner = 1024;
  if (c.is_albert()) {
    c.vocabulary = 30000;
    c.width = 4096;
    c.heads = 64;
    c.inner = 16384;
    c.dropout = c.attention_dropout = 0;
  }
  if (c.is_nomic()) {
    c.vocabulary = 30528;
    c.context = 2048;
    c.activation = Activation::silu;
    c.dropout = c.attention_dropout = c.head_dropout = 0;
  }
  if (!c.is_deberta()) return;
  c.vocabulary = 128100;
  c.width = 1536;
  c.layers = c.heads = 24;
  c.inner = 6144;
  c.epsilon = 1e-7;
}

void read_bert(const JsonObject& json, BertConfig& c) {
  refuse_options(json);
  c.vocabulary = integer_or(json, "vocab_size", c.vocabulary, 1, most_rows);
  c.width = integer_or(json, "hidden_size", c.width, 1, most_width);
  c.layers = integer_or(json, "num_hidden_layers", c.layers, 1, most_layers);
  c.heads = integer_or(json, "num_attention_heads", c.heads, 1, most_width);
  c.inner = integer_or(json, "intermediate_size", c.inner, 1, 4 * most_width);
  c.segments = c.is_mpnet() || c.is_deberta() ? 0 : integer_or(json, "type_vocab_size", 2, 1, most_rows);
  if (c.is_electra()) {
    const int64_t size = integer_or(json, "embedding_size", 128, 1, most_width);
    if (size != c.width) c.embedding_size = size;
  }
  if (c.is_albert()) {
    c.embedding_size = integer_or(json, "embedding_size", 128, 1, most_width);
    c.groups = integer_or(json, "num_hidden_groups", 1, 1, c.layers);
    check(integer_or(json, "inner_group_num", 1, 0, most_layers) == 1,
          "{}: inner_group_num must be 1: groups of unlike layers are not supported", json.name());
  }
  c.activation = activation_of(json, "hidden_act", c.is_albert() ? "gelu_new" : std::string(name_of(c.activation)));
  c.epsilon = number_or(json, "layer_norm_eps", c.epsilon, 0, 1);
  c.dropout = number_or(json, "hidden_dropout_prob", c.dropout, 0, 0.99);
  c.attention_dropout = number_or(json, "attention_probs_dropout_prob", c.attention_dropout, 0, 0.99);
  c.head_dropout = c.dropout;
  if (c.head == Head::answer)
    c.head_dropout = 0;
  else if (!c.is_mpnet() && !c.is_deberta())
    c.head_dropout = number_or(json, bert::classifier_dropout_key(c), c.is_albert() ? 0.1 : c.dropout, 0, 0.99);
  const int64_t rows = integer_or(json, "max_position_embeddings", c.context, 1, most_positions);
  if (c.is_mpnet()) refuse_other_constants(json);
  if (c.is_roberta() || c.is_mpnet()) c.first_position = integer_or(json, "pad_token_id", 1, 0, c.vocabulary - 1) + 1;
  check(rows > c.first_position, "{}: max_position_embeddings {} leaves no position behind pad_token_id {}",
        json.name(), rows, c.first_position - 1);
  c.context = rows - c.first_position;
  if (c.is_deberta()) read_deberta(json, c);
  if (!c.is_nomic()) return;
  static_cast<void>(gate_of(json, "hidden_act", "silu"));
  c.rotary = RotaryConfig::from_json(json, {.theta = bert::usual_nomic_base, .context = c.context});
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

/// Heads whose positions turn.
void check_turned(const JsonObject& json, const BertConfig& c) {
  const int64_t width = c.width / c.heads, said = integer_or(json, "head_dim", width, 1, most_width);
  check(width % 2 == 0, "{}: heads of an odd width {} have no pairs that positions turn", json.name(), width);
  check(said == width, "{}: head_dim {} is not supported; {}, the width / heads, is", json.name(), said, width);
  check(c.rotary->scaling != RotaryConfig::Scaling::longrope, "{}: longrope is not supported", json.name());
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
  if (c.is_deberta()) {
    json.update({{"type_vocab_size", 0},
                 {"relative_attention", true},
                 {"position_biased_input", false},
                 {"share_att_key", true},
                 {"pos_att_type", "p2c|c2p"},
                 {"norm_rel_ebd", "layer_norm"},
                 {"position_buckets", c.buckets > 0 ? c.buckets : -1},
                 {"max_relative_positions", c.farthest},
                 {"pooler_hidden_act", name_of(c.pooler_activation)},
                 {"pooler_dropout", c.pooler_dropout}});
    if (c.head == Head::sequence) json["cls_dropout"] = c.head_dropout;
    return json;
  }
  if (c.is_electra() || c.is_albert()) json["embedding_size"] = c.embedding_width();
  if (c.is_albert()) json["num_hidden_groups"] = c.groups;
  json["type_vocab_size"] = c.segments;
  if (c.rotary) json.update(c.rotary->keys());
  if (c.head == Head::sequence || c.head == Head::tokens) json[bert::classifier_dropout_key(c)] = c.head_dropout;
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
  set_usual_sizes(c);
  const bool distilled = c.family == "distilbert", older_nomic = c.is_nomic() && bert::has_older_nomic_keys(json);
  if (distilled)
    read_distilbert(json, c);
  else if (older_nomic)
    bert::read_older_nomic(json, c);
  else
    read_bert(json, c);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.classes = classes_of_head(json, c.head);
  const char* width_key = distilled ? "dim" : older_nomic ? "n_embd" : "hidden_size";
  const char* heads_key = distilled ? "n_heads" : older_nomic ? "n_head" : "num_attention_heads";
  check(c.width % c.heads == 0, "{}: {} {} is not a multiple of {} {}", json.name(), width_key, c.width, heads_key,
        c.heads);
  if (c.rotary) check_turned(json, c);
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
