#include "models/gguf/gguf_config.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "models/families/rotary.h"
#include "models/gguf/architectures.h"
#include "models/gguf/gguf_weights.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

constexpr int64_t most = int64_t{1} << 40;

/// Files have floats; as few digits as tell one from its neighbours are what people wrote.
double shortest(double value) {
  double result = 0;
  const std::string digits = fmt::format("{}", static_cast<float>(value));
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  return result;
}

int64_t rows_of(const GgufShards& shards, std::string_view tensor) {
  const GgufShards::Tensor* found = shards.find(tensor);
  check(found != nullptr, "{}: has no tensor {}", shards.name(), tensor);
  return found->entry->shape.front();
}

/// A file's metadata, under the name of its architecture.
class Settings {
 public:
  Settings(const GgufShards& shards, const GgufArchitecture& architecture)
      : shards_(shards), all_(shards.metadata()), prefix_(std::string(architecture.name) + '.') {}

  const GgufShards& shards() const { return shards_; }
  const GgufMetadata& all() const { return all_; }
  bool has(std::string_view key) const { return all_.has(name(key)); }
  bool has_tensor(std::string_view tensor) const { return shards_.find(tensor) != nullptr; }
  std::string name(std::string_view key) const { return prefix_ + std::string(key); }
  int64_t integer(std::string_view key) const { return all_.integer(name(key), 0, most); }
  double number(std::string_view key) const { return shortest(all_.number(name(key), -1e30, 1e30)); }
  json value(const KeyRow& row) const {
    if (row.kind == KeyRow::Kind::boolean) return all_.boolean(name(row.gguf));
    if (row.kind == KeyRow::Kind::number) return number(row.gguf);
    return integer(row.gguf);
  }

 private:
  const GgufShards& shards_;
  const GgufMetadata& all_;
  std::string prefix_;
};

/// What turns the divisors of a file into "llama3" scaling. How many turns a frequency makes in the original context
/// decides; only the ratios of that context and of the two limits count, so that it is free to be 8192.
json llama3_scaling(const Settings& settings, double theta, int64_t width) {
  const GgufShards::Tensor& stored = *settings.shards().find("rope_freqs.weight");
  const auto name = [&] { return fmt::format("{}: tensor rope_freqs.weight", settings.shards().name()); };
  const auto pairs = static_cast<size_t>(width / 2);
  check(stored.entry->type->name == "F32" && stored.entry->shape == std::vector<int64_t>{width / 2},
        "{} must be {} values of F32", name(), pairs);
  std::vector<float> divisors(pairs);
  decode(DType::f32, stored.entry->bytes, divisors);
  for (const float divisor : divisors) check(divisor >= 1e-3f && divisor <= 1e6f, "{} has {}", name(), divisor);
  RotaryConfig rotary{.theta = theta, .scaling = RotaryConfig::Scaling::llama3};
  rotary.factor = *std::ranges::max_element(divisors);
  const RotaryConfig plain{.theta = theta};
  const auto fits = [&] {
    for (size_t i = 0; i < pairs; ++i) {
      const auto pair = static_cast<int64_t>(i);
      const double ours = plain.frequency(pair, width) / rotary.frequency(pair, width);
      if (std::abs(ours / static_cast<double>(divisors[i]) - 1) > 1e-4) return false;
    }
    return true;
  };
  rotary.low_frequency_factor = 1;
  rotary.high_frequency_factor = 4;
  if (rotary.factor > 1 && !fits()) {
    // Between the limits the inverse of the divisor grows with the frequency in a straight line.
    std::vector<std::pair<double, double>> between;  // turns, share of the plain frequency
    for (size_t i = 0; i < pairs; ++i) {
      const double divisor = divisors[i], turns = static_cast<double>(rotary.original_context) *
                                                  plain.frequency(static_cast<int64_t>(i), width) /
                                                  (2 * std::numbers::pi);
      if (divisor > 1 + 1e-6 && divisor < rotary.factor * (1 - 1e-6))
        between.emplace_back(turns, (1 / divisor - 1 / rotary.factor) / (1 - 1 / rotary.factor));
    }
    if (between.size() >= 2) {
      const auto [first, first_share] = between.front();
      const auto [last, last_share] = between.back();
      const double range = (first - last) / (first_share - last_share);
      rotary.low_frequency_factor = first - first_share * range;
      rotary.high_frequency_factor = rotary.low_frequency_factor + range;
    } else if (between.size() == 1) {
      rotary.low_frequency_factor = between[0].first / (1 + 3 * between[0].second);
      rotary.high_frequency_factor = 4 * rotary.low_frequency_factor;
    }
    check(rotary.low_frequency_factor > 0 && rotary.high_frequency_factor > rotary.low_frequency_factor && fits(),
          "{} has divisors of frequencies that are not those of llama3's scaling; others are not supported", name());
  }
  check(rotary.factor >= 1, "{} has only divisors below 1", name());
  json scaling = rotary.to_json();
  scaling.erase("rope_theta");
  return scaling;
}

void read_rotary(const Settings& settings, json& config, int64_t width) {
  if (!config.contains("rope_theta")) config["rope_theta"] = 10000.0;
  const double theta = config["rope_theta"];
  if (settings.has_tensor("rope_freqs.weight")) {
    config["rope_scaling"] = llama3_scaling(settings, theta, width);
    return;
  }
  const std::string type =
      settings.has("rope.scaling.type") ? std::string(settings.all().text(settings.name("rope.scaling.type"))) : "none";
  if (type == "none") return;
  check(type == "linear", "{}: key {} is {}; linear is supported", settings.shards().name(),
        settings.name("rope.scaling.type"), in_quotes(type));
  config["rope_scaling"] = {{"rope_type", "linear"}, {"factor", settings.number("rope.scaling.factor")}};
}

/// LLaMA and its kin: heads, rotary positions, what only tensors tell.
void read_decoder(const Settings& settings, json& config) {
  const auto heads = config["num_attention_heads"].get<int64_t>();
  if (!config.contains("num_key_value_heads")) config["num_key_value_heads"] = heads;
  if (!config.contains("head_dim")) {
    const auto width = config["hidden_size"].get<int64_t>();
    check(heads > 0 && width % heads == 0, "{}: key {} is {}, which does not divide the width {}",
          settings.shards().name(), settings.name("attention.head_count"), heads, width);
    config["head_dim"] = width / heads;
  }
  const auto head_width = config["head_dim"].get<int64_t>();
  for (const char* key : {"attention.value_length", "rope.dimension_count"})
    check(!settings.has(key) || settings.integer(key) == head_width,
          "{}: key {} is not the width {} of the heads; that is not supported", settings.shards().name(),
          settings.name(key), head_width);
  check(!settings.has("expert_count") || settings.integer("expert_count") == 0,
        "{}: key {}: mixtures of experts are not supported for this architecture", settings.shards().name(),
        settings.name("expert_count"));
  read_rotary(settings, config, head_width);
}

void read_llama(const Settings& settings, json& config) {
  read_decoder(settings, config);
  config["attention_bias"] = settings.has_tensor("blk.0.attn_q.bias");
  config["mlp_bias"] = settings.has_tensor("blk.0.ffn_up.bias");
  if (!settings.has("attention.sliding_window") || settings.integer("attention.sliding_window") == 0) return;
  config["model_type"] = "mistral";
  config["architectures"] = {"MistralForCausalLM"};
  config["sliding_window"] = settings.integer("attention.sliding_window");
}

void read_gpt2(const Settings& settings, json& config) {
  config["n_inner"] = rows_of(settings.shards(), "blk.0.ffn_up.weight");  // converters write 4 n_embd
}

void read_gpt_neox(const Settings& settings, json& config) {
  const auto heads = config["num_attention_heads"].get<int64_t>(), width = config["hidden_size"].get<int64_t>();
  check(heads > 0 && width % heads == 0, "{}: key {} is {}, which does not divide the width {}",
        settings.shards().name(), settings.name("attention.head_count"), heads, width);
  const int64_t head_width = width / heads;
  const int64_t turned = settings.has("rope.dimension_count") ? settings.integer("rope.dimension_count") : head_width;
  config["rotary_pct"] = static_cast<double>(turned) / static_cast<double>(head_width);
  read_rotary(settings, config, turned);
}

void read_bert(const Settings& settings, json& config) {
  config["type_vocab_size"] = rows_of(settings.shards(), "token_types.weight");
  if (!settings.has_tensor("cls.output.weight")) return;
  config["architectures"] = {"BertForSequenceClassification"};
  const int64_t classes = rows_of(settings.shards(), "cls.output.weight");
  std::vector<std::string_view> names;
  if (settings.has("classifier.output_labels")) names = settings.all().texts(settings.name("classifier.output_labels"));
  for (int64_t i = 0; i < classes; ++i)
    config["id2label"][std::to_string(i)] =
        std::cmp_equal(names.size(), classes) ? std::string(names[static_cast<size_t>(i)]) : fmt::format("LABEL_{}", i);
}

void read_t5(const Settings& settings, json& config) {
  config["is_encoder_decoder"] = true;
  if (!config.contains("num_decoder_layers")) config["num_decoder_layers"] = config["num_layers"];
  if (!config.contains("relative_attention_max_distance")) config["relative_attention_max_distance"] = 128;
  config["feed_forward_proj"] = settings.has_tensor("enc.blk.0.ffn_gate.weight") ? "gated-gelu" : "relu";
  // The first T5, whose layers have no gates, scales what goes into a tied head; those after it have heads of their own.
  config["scale_decoder_outputs"] = settings.has("scale_decoder_outputs")
                                        ? settings.all().boolean(settings.name("scale_decoder_outputs"))
                                        : !settings.has_tensor("output.weight") && config["feed_forward_proj"] == "relu";
  if (settings.has("decoder_start_token_id"))
    config["decoder_start_token_id"] = settings.integer("decoder_start_token_id");
}

struct Reader {
  std::string_view architecture;
  void (*read)(const Settings&, json& config);
};
constexpr Reader readers[] = {{"llama", read_llama},      {"qwen2", read_decoder}, {"gpt2", read_gpt2},
                              {"gptneox", read_gpt_neox}, {"bert", read_bert},     {"t5", read_t5}};

/// The ids of special tokens, under Hugging Face's keys. A text may also end with the end of a turn or of a message.
void read_ids(const GgufMetadata& metadata, json& config) {
  const auto id = [&](const char* key) { return metadata.integer(key, 0, INT32_MAX); };
  for (const auto& [key, theirs] :
       {std::pair{"tokenizer.ggml.bos_token_id", "bos_token_id"}, {"tokenizer.ggml.padding_token_id", "pad_token_id"}})
    if (metadata.has(key)) config[theirs] = id(key);
  std::vector<int64_t> ends;
  for (const char* key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
    if (metadata.has(key) && std::ranges::find(ends, id(key)) == ends.end()) ends.push_back(id(key));
  if (ends.size() == 1) config["eos_token_id"] = ends.front();
  if (ends.size() > 1) config["eos_token_id"] = ends;
}

bool means(const FixedRow& row, const json& value) { return std::ranges::find(row.values, value) != row.values.end(); }

}  // namespace

json gguf_config(const GgufShards& shards) {
  const GgufArchitecture& architecture = architecture_of(shards);
  const Settings settings(shards, architecture);
  json config = {{"model_type", architecture.model_types.front()}, {"architectures", {architecture.model_class}}};
  for (const KeyRow& row : architecture.keys)
    if (!row.optional || settings.has(row.gguf)) config[row.hugging_face] = settings.value(row);
  for (const FixedRow& row : architecture.fixed) config[row.hugging_face] = row.values.front();
  config["vocab_size"] = rows_of(shards, "token_embd.weight");
  config["tie_word_embeddings"] = !settings.has_tensor("output.weight");
  for (const Reader& reader : readers)
    if (reader.architecture == architecture.name) reader.read(settings, config);
  read_ids(shards.metadata(), config);
  return config;
}

namespace {

RotaryConfig rotary_of(const json& config) {
  const RotaryConfig rotary = RotaryConfig::from_json(JsonObject::make(config, "config.json"), {});
  using Scaling = RotaryConfig::Scaling;
  check(rotary.scaling == Scaling::none || rotary.scaling == Scaling::linear || rotary.scaling == Scaling::llama3,
        "config.json: only rotary positions without scaling, or of type linear or llama3, can go into a GGUF file yet");
  return rotary;
}

/// What a config says of rotary positions beside their base.
void add_rotary(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const RotaryConfig rotary = rotary_of(config);
  if (rotary.scaling == RotaryConfig::Scaling::linear) {
    pairs.add_text(prefix + "rope.scaling.type", "linear");
    pairs.add_number(prefix + "rope.scaling.factor", static_cast<float>(rotary.factor));
  }
}

uint32_t integer_in(const json& config, const char* key) { return config.at(key).get<uint32_t>(); }

void add_decoder(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const uint32_t width = integer_in(config, "head_dim");
  pairs.add_integer(prefix + "attention.value_length", width);
  pairs.add_integer(prefix + "rope.dimension_count", width);
  pairs.add_integer(prefix + "vocab_size", integer_in(config, "vocab_size"));
  add_rotary(pairs, prefix, config);
  if (config.value("sliding_window", json()).is_number())
    pairs.add_integer(prefix + "attention.sliding_window", integer_in(config, "sliding_window"));
}

void add_gpt2(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_integer(prefix + "feed_forward_length", integer_in(config, "n_inner"));
}

void add_gpt_neox(GgufPairs& pairs, const std::string& prefix, const json& config) {
  const uint32_t width = integer_in(config, "hidden_size") / integer_in(config, "num_attention_heads");
  const double share = RotaryConfig::place(JsonObject::make(config, "config.json"))
                           .value()
                           .value("partial_rotary_factor", config.value("rotary_pct", 0.25));
  pairs.add_integer(prefix + "rope.dimension_count", static_cast<uint32_t>(share * width));
  add_rotary(pairs, prefix, config);
}

void add_bert(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_boolean(prefix + "attention.causal", false);
  const bool classifies = config.contains("id2label");
  // As ggml counts its poolings: none, or of rank, by the class token and a classifier.
  pairs.add_integer(prefix + "pooling_type", classifies ? 4 : 0);
  pairs.add_integer("tokenizer.ggml.token_type_count", integer_in(config, "type_vocab_size"));
  if (!classifies) return;
  std::vector<std::string> names;
  for (size_t i = 0; i < config["id2label"].size(); ++i) names.push_back(config["id2label"].at(std::to_string(i)));
  pairs.add_texts(prefix + "classifier.output_labels", names);
}

void add_t5(GgufPairs& pairs, const std::string& prefix, const json& config) {
  pairs.add_integer(prefix + "context_length", 512);  // T5 has no limit; readers ask for one
  pairs.add_integer(prefix + "attention.value_length", integer_in(config, "d_kv"));
  pairs.add_number(prefix + "attention.layer_norm_epsilon", config.at("layer_norm_epsilon").get<float>());
  pairs.add_integer(prefix + "decoder_start_token_id", config.value("decoder_start_token_id", uint32_t{0}));
  pairs.add_boolean(prefix + "scale_decoder_outputs", config.value("scale_decoder_outputs", false));
  const std::string layers = config.at("feed_forward_proj");
  check(layers == "relu" || layers == "gated-gelu" || layers == "gated-gelu_new",
        "a GGUF file can't say \"feed_forward_proj\" {}; relu and gated-gelu it can", in_quotes(layers));
}

struct Adder {
  std::string_view architecture;
  void (*add)(GgufPairs&, const std::string& prefix, const json& config);
};
constexpr Adder adders[] = {{"llama", add_decoder},    {"qwen2", add_decoder}, {"gpt2", add_gpt2},
                            {"gptneox", add_gpt_neox}, {"bert", add_bert},     {"t5", add_t5}};

}  // namespace

void add_config(GgufPairs& pairs, const GgufArchitecture& architecture, const json& config) {
  const std::string prefix = std::string(architecture.name) + '.';
  for (const FixedRow& row : architecture.fixed) {
    const json value = config.value(row.hugging_face, row.values.front());
    check(means(row, value), "a GGUF file of architecture {} can't say \"{}\" {}", architecture.name, row.hugging_face,
          printable(value.dump(), 60));
  }
  for (const KeyRow& row : architecture.keys) {
    const auto value = config.find(row.hugging_face);
    if (row.optional && (value == config.end() || value->is_null())) continue;
    const std::string key = prefix + std::string(row.gguf);
    if (row.kind == KeyRow::Kind::number) pairs.add_number(key, value->get<float>());
    if (row.kind == KeyRow::Kind::boolean) pairs.add_boolean(key, value->get<bool>());
    if (row.kind == KeyRow::Kind::integer) pairs.add_integer(key, value->get<uint32_t>());
  }
  for (const Adder& adder : adders)
    if (adder.architecture == architecture.name) adder.add(pairs, prefix, config);
}

std::vector<float> rotary_divisors(const json& config) {
  if (!config.contains("rope_theta") && !config.contains("rope_parameters")) return {};
  const RotaryConfig rotary = rotary_of(config);
  if (rotary.scaling != RotaryConfig::Scaling::llama3) return {};
  const RotaryConfig plain{.theta = rotary.theta};
  const auto width = config.at("head_dim").get<int64_t>();
  std::vector<float> divisors;
  for (int64_t i = 0; i < width / 2; ++i)
    divisors.push_back(static_cast<float>(plain.frequency(i, width) / rotary.frequency(i, width)));
  return divisors;
}

}  // namespace vkformer
