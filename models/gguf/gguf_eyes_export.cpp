#include "models/gguf/gguf_eyes_export.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/gguf/eye_architectures.h"
#include "models/gguf/gguf_targets.h"
#include "models/gguf/gguf_weights.h"
#include "models/stored_weights.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

constexpr const char* tanh_gelu = "gelu_new";  ///< as settled configs call it
constexpr const char* row_end_tensor = "v.token_embd.img_break";

/// Writes settings under "clip.vision.".
class EyeKeys {
 public:
  explicit EyeKeys(GgufPairs& pairs) : pairs_(pairs) {}
  void integer(std::string_view key, int64_t value) {
    check(std::in_range<uint32_t>(value), "a GGUF file of eyes can't say \"{}\" {}", key, value);
    pairs_.add_integer(full(key), static_cast<uint32_t>(value));
  }
  void number(std::string_view key, double value) { pairs_.add_number(full(key), static_cast<float>(value)); }
  void numbers(std::string_view key, std::span<const float> values) { pairs_.add_numbers(full(key), values); }
  GgufPairs& pairs() { return pairs_; }

 private:
  static std::string full(std::string_view key) { return "clip.vision." + std::string(key); }
  GgufPairs& pairs_;
};

[[noreturn]] void refuse(const char* key, const json& value) {
  fail("a GGUF file of eyes can't say \"{}\" {}", key, printable(value.dump(), 60));
}
void check_says(const json& config, const char* key, const json& only) {
  if (const json value = config.value(key, only); value != only) refuse(key, value);
}

/// Which activation the encoder has: files know three.
void add_activation(GgufPairs& pairs, const json& vision, std::string_view unsaid) {
  const auto activation = vision.at("hidden_act").get<std::string>();
  if (activation == unsaid) return;
  if (activation == "silu") return pairs.add_boolean("clip.use_silu", true);
  if (activation != "gelu" && activation != tanh_gelu) refuse("hidden_act", activation);
  pairs.add_boolean("clip.use_gelu", true);
}

void add_llava(EyeKeys& keys, const json& config, const json& vision) {
  const bool clip = vision.at("model_type").get<std::string>() == "clip_vision_model";
  check_says(config, "vision_feature_select_strategy", clip ? "default" : "full");
  check_says(config, "projector_hidden_act", "gelu");
  add_activation(keys.pairs(), vision, "quick_gelu");
}

void add_siglip(EyeKeys& keys, const json& vision, int64_t factor) {
  check_says(vision, "hidden_act", tanh_gelu);
  add_activation(keys.pairs(), vision, "");
  keys.integer("projector.scale_factor", factor);
}

void add_idefics3(EyeKeys& keys, const json& config, const json& vision) {
  add_siglip(keys, vision, config.at("scale_factor").get<int64_t>());
}

void add_gemma3_eyes(EyeKeys& keys, const json& config, const json& vision) {
  const int64_t side = vision.at("image_size").get<int64_t>() / vision.at("patch_size").get<int64_t>();
  const auto positions = config.at("mm_tokens_per_image").get<double>();
  add_siglip(keys, vision, side / std::lround(std::sqrt(positions)));
}

void add_qwen(EyeKeys& keys, const json& vision) {
  check_says(vision, "temporal_patch_size", 2);
  keys.number("attention.layer_norm_epsilon", 1e-6);
}

void add_qwen2(EyeKeys& keys, const json&, const json& vision) {
  add_qwen(keys, vision);
  check_says(vision, "hidden_act", "quick_gelu");
  keys.integer("image_size", 560);  // of a picture of any size, as llama.cpp's converter has it
  keys.integer("feed_forward_length", vision.at("intermediate_size").get<int64_t>());
}

/// Of each so many layers the last one sees all.
void add_qwen2_5(EyeKeys& keys, const json&, const json& vision) {
  add_qwen(keys, vision);
  keys.integer("image_size", 560);
  keys.pairs().add_boolean("clip.use_silu", true);
  const auto all = vision.at("fullatt_block_indexes").get<std::vector<int64_t>>();
  const int64_t period = all.empty() ? 0 : all.front() + 1;
  std::vector<int64_t> said;
  for (int64_t layer = period; period > 0 && layer <= vision.at("depth").get<int64_t>(); layer += period)
    said.push_back(layer - 1);
  if (all.empty() || all != said) refuse("fullatt_block_indexes", vision.at("fullatt_block_indexes"));
  keys.integer("n_wa_pattern", period);
  keys.integer("window_size", vision.at("window_size").get<int64_t>());
}

void add_qwen3(EyeKeys& keys, const json&, const json& vision) {
  add_qwen(keys, vision);
  add_activation(keys.pairs(), vision, "");
  check_says(vision, "hidden_act", tanh_gelu);
  const auto side = std::lround(std::sqrt(vision.at("num_position_embeddings").get<double>()));
  keys.integer("image_size", side * vision.at("patch_size").get<int64_t>());
}

void add_pixtral(EyeKeys& keys, const json& config, const json& vision) {
  check_says(vision, "rope_theta", 10000.0);
  check_says(config, "projector_hidden_act", "gelu");
  add_activation(keys.pairs(), vision, "");
  keys.number("attention.layer_norm_epsilon", 1e-5);
  keys.integer("spatial_merge_size", config.at("spatial_merge_size").get<int64_t>());
}

struct KindWriter {
  std::string_view projector;
  void (*add)(EyeKeys& keys, const json& config, const json& vision);
};
constexpr KindWriter eye_writers[] = {{"mlp", add_llava},
                                      {"idefics3", add_idefics3},
                                      {"gemma3", add_gemma3_eyes},
                                      {"qwen2vl_merger", add_qwen2},
                                      {"qwen2.5vl_merger", add_qwen2_5},
                                      {"qwen3vl_merger", add_qwen3},
                                      {"pixtral", add_pixtral}};

/// The vision_config as files mean it: of the layers whose states are read, by the names of one generation.
json vision_of_file(const json& config, std::string_view projector) {
  json vision = config.at("vision_config");
  if (projector == "mlp") vision["num_hidden_layers"] = config.at("vision_feature_layer");
  if (vision.contains("embed_dim")) vision["hidden_size"] = vision.at("embed_dim");
  return vision;
}

void add_pictures(EyeKeys& keys, const ImageSettings& pictures) {
  keys.numbers("image_mean", pictures.mean.value_or(std::array<float, 3>{0, 0, 0}));
  keys.numbers("image_std", pictures.deviation.value_or(std::array<float, 3>{1, 1, 1}));
  if (pictures.tiles) keys.integer("preproc_image_size", pictures.tiles->longest_edge);
  if (pictures.fit && pictures.fit->longest == 0) {
    keys.integer("image_min_pixels", pictures.fit->least);
    keys.integer("image_max_pixels", pictures.fit->most);
  }
}

/// As llama.cpp's converter chooses: vectors and tables of positions in f32; convolutions, and what is transposed or
/// permuted there, in no blocks. Nothing for other matrices, which have `dtype`.
std::optional<DType> fixed_type(const Mixture::Tensor& tensor, DType dtype) {
  const std::string& name = tensor.name;
  if (tensor.shape.size() == 1 || name == "v.position_embd.weight") return DType::f32;
  if (name.starts_with("v.patch_embd.") || name == "mm.patch_merger.weight")
    return dtype == DType::f16 ? DType::f16 : DType::f32;
  if (name == "mm.input_projection.weight") return dtype == DType::f32 ? DType::f32 : DType::f16;
  return std::nullopt;
}

}  // namespace

TypeFallbacks write_eyes_as_gguf(const std::filesystem::path& file, const EyesToWrite& what, const Weights& weights,
                                 DType dtype, const LoadProgress& progress) {
  const json& config = *what.eyes.config;
  const auto model_type = config.at("model_type").get<std::string>();
  const EyeArchitecture* kind =
      eye_architecture_of_model(model_type, config.at("vision_config").value("model_type", std::string()));
  check(kind != nullptr, "GGUF files of the eyes of {} are not supported", printable(model_type, 60));
  const json vision = vision_of_file(config, kind->projector);

  std::vector<std::string> dropped;
  std::vector<Target> targets = targets_of(kind->data, what.eyes, dropped);
  if (!what.row_end.empty()) targets.push_back(target_of({row_end_tensor, what.row_end}));
  TypeFallbacks fallbacks;
  std::vector<DType> types;
  for (const Target& target : targets) {
    const auto fixed = fixed_type(target.tensor, dtype);
    types.push_back(fixed ? *fixed : fitting_type(dtype, target.tensor.shape.back()));
    if (!fixed && is_blocks(dtype)) fallbacks.add(dtype, types.back());
  }

  GgufPairs pairs;
  pairs.add_text("general.architecture", architecture_of_eyes);
  pairs.add_text("general.type", "mmproj");
  pairs.add_text("general.name", what.name);
  pairs.add_integer("general.file_type", Mixture(name_of(dtype)).file_type());
  pairs.add_boolean("clip.has_vision_encoder", true);
  pairs.add_text("clip.projector_type", kind->projector);
  EyeKeys keys(pairs);
  for (const KeyRow& row : kind->data.keys) {
    if (row.kind == KeyRow::Kind::number)
      keys.number(row.gguf, vision.at(row.hugging_face).get<double>());
    else
      keys.integer(row.gguf, vision.at(row.hugging_face).get<int64_t>());
  }
  keys.integer("projection_dim", what.text_width);
  std::ranges::find(eye_writers, kind->projector, &KindWriter::projector)->add(keys, config, vision);
  add_pictures(keys, what.pictures);

  const auto setting = [&](std::string_view, std::optional<int64_t>) {  // heads alone
    return vision.at("num_attention_heads").get<int64_t>();
  };
  const auto read = [&](const ParameterSpec& part) { return weights.read(part.name); };
  write_gguf(file, pairs, sources_of(targets, types, setting, read, progress));
  return fallbacks;
}

}  // namespace vkformer
