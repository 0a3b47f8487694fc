#include <nlohmann/json.hpp>

#include "models/families/config_keys.h"
#include "models/families/layers.h"
#include "models/families/xlnet/xlnet.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using Head = XlnetConfig::Head;

constexpr const char *language_model = "XLNetLMHeadModel", *classifier = "XLNetForSequenceClassification";

/// What Hugging Face's modules could do besides. mem_len, reuse_len and use_mems_* only cache earlier segments.
void refuse_options(const JsonObject& json) {
  const std::string attention = string_or(json, "attn_type", "bi");
  check(attention == "bi", "{}: attn_type '{}' is not supported; bi is", json.name(), printable(attention, 60));
  for (const char* key : {"bi_data", "same_length"})
    check(!boolean_or(json, key, false), "{}: {} is not supported", json.name(), key);
}

void read_classifier(const JsonObject& json, XlnetConfig& c) {
  c.classes = classes_of(json, 2);
  check_problem(json);
  const std::string summary = string_or(json, "summary_type", "last");
  check(summary == "last" || summary == "first", "{}: summary_type '{}' is not supported; known are last, first",
        json.name(), printable(summary, 60));
  c.summary_first = summary == "first";
  c.summary_project = boolean_or(json, "summary_use_proj", true);
  check(!boolean_or(json, "summary_proj_to_labels", false), "{}: summary_proj_to_labels is not supported", json.name());
  // Absent is tanh, null or empty is none.
  const bool none = json.value().contains("summary_activation") && string_or(json, "summary_activation", "").empty();
  c.summary_activation = none ? Activation::none : activation_of(json, "summary_activation", "tanh");
  c.summary_first_dropout = number_or(json, "summary_first_dropout", 0, 0, 0.99);
  c.summary_last_dropout = number_or(json, "summary_last_dropout", c.summary_last_dropout, 0, 0.99);
}

}  // namespace

XlnetConfig XlnetConfig::from_json(const JsonObject& json) {
  XlnetConfig c;
  c.head = architecture_of(json, {language_model, classifier}) == 0 ? Head::language_model : Head::classifier;
  refuse_options(json);
  c.vocabulary = integer_or(json, json.has("vocab_size") ? "vocab_size" : "n_token", c.vocabulary, 1, most_rows);
  c.width = integer_or(json, "d_model", c.width, 1, most_width);
  c.layers = integer_or(json, "n_layer", c.layers, 1, most_layers);
  c.heads = integer_or(json, "n_head", c.heads, 1, most_width);
  c.inner = integer_or(json, "d_inner", c.inner, 1, 4 * most_width);
  check(c.width % c.heads == 0, "{}: d_model {} is not a multiple of n_head {}", json.name(), c.width, c.heads);
  check(c.width % 2 == 0, "{}: d_model {} is odd; half of the columns are sines of distances", json.name(), c.width);
  check(c.head_width() <= 256, "{}: heads of width {} (d_model {} / n_head {}); at most 256 is supported", json.name(),
        c.head_width(), c.width, c.heads);
  const int64_t given = integer_or(json, "d_head", c.head_width(), 1, most_width);
  check(given == c.head_width(), "{}: d_head {} is not d_model / n_head = {}", json.name(), given, c.head_width());
  c.activation = activation_of(json, "ff_activation", "gelu");
  c.farthest = std::max<int64_t>(integer_or(json, "clamp_len", -1, -most_rows, most_rows), 0);
  c.epsilon = number_or(json, "layer_norm_eps", c.epsilon, 0, 1);
  c.dropout = number_or(json, "dropout", c.dropout, 0, 0.99);
  c.deviation = number_or(json, "initializer_range", c.deviation, 0, 10);
  c.tied = boolean_or(json, "tie_word_embeddings", true);
  if (c.head == Head::classifier) read_classifier(json, c);
  return c;
}

nlohmann::json XlnetConfig::to_json() const {
  const bool classifies = head == Head::classifier;
  nlohmann::json json = {{"model_type", "xlnet"},
                         {"architectures", nlohmann::json::array({classifies ? classifier : language_model})},
                         {"vocab_size", vocabulary},
                         {"d_model", width},
                         {"n_layer", layers},
                         {"n_head", heads},
                         {"d_head", head_width()},
                         {"d_inner", inner},
                         {"ff_activation", name_of(activation)},
                         {"attn_type", "bi"},
                         {"clamp_len", farthest > 0 ? farthest : -1},
                         {"layer_norm_eps", epsilon},
                         {"dropout", dropout},
                         {"initializer_range", deviation},
                         {"tie_word_embeddings", tied},
                         {"torch_dtype", "float32"}};
  if (!classifies) return json;
  json.update({{"summary_type", summary_first ? "first" : "last"},
               {"summary_use_proj", summary_project},
               {"summary_first_dropout", summary_first_dropout},
               {"summary_last_dropout", summary_last_dropout}});
  json["summary_activation"] =
      summary_activation == Activation::none ? nlohmann::json() : nlohmann::json(name_of(summary_activation));
  for (size_t i = 0; i < classes.size(); ++i) {
    json["id2label"][std::to_string(i)] = classes[i];
    json["label2id"][classes[i]] = i;
  }
  return json;
}

}  // namespace vkformer
