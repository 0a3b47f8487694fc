#include "models/gguf/gguf_eyes.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/gguf/config_readers.h"
#include "models/gguf/eye_architectures.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {
namespace {

using nlohmann::json;

constexpr int64_t most_picture_side = 1 << 14, most_merged_side = 64;
constexpr const char* merge_key = "spatial_merge_size";

bool uses(const GgufSettings& settings, const char* activation) {
  return settings.all().boolean_or(fmt::format("clip.use_{}", activation), false);
}

/// How many patches to a side Pixtral's eyes join to a position: what the matrix that does it takes. Some files have no
/// key for it.
int64_t merged_side(const GgufSettings& settings) {
  const auto* matrix = settings.shards().find("mm.patch_merger.weight");
  if (matrix == nullptr) return 1;
  const int64_t width = settings.integer("embedding_length"), columns = matrix->entry->shape.back();
  const auto side = std::lround(std::sqrt(static_cast<double>(columns) / static_cast<double>(width)));
  check(side > 0 && side * side * width == columns,
        "{}: tensor mm.patch_merger.weight has {} columns for {} of a patch", settings.shards().name(), columns, width);
  return side;
}

bool has_class_token(const GgufSettings& settings) { return settings.has_tensor("v.class_embd"); }

/// LLaVA's: the states behind the file's last layer, which is not the encoder's.
void read_llava_eyes(const GgufSettings& settings, json& config) {
  const bool clip = has_class_token(settings);
  json& vision = config["vision_config"];
  const auto layers = vision["num_hidden_layers"].get<int64_t>();
  check(!settings.has_tensor("model.image_newline") && !settings.has_tensor("v.image_newline") &&
            !settings.has("image_grid_pinpoints"),
        "{}: it is of LLaVA-NeXT, which cuts pictures into tiles; that is not supported, LLaVA 1.5 is",
        settings.shards().name());
  if (settings.has("feature_layer")) {
    const auto read = settings.all().integers(settings.name("feature_layer"), 0, layers);
    check(read.size() == 1 && read.front() == layers,
          "{}: key {}: states of one layer alone are supported, of the file's last one", settings.shards().name(),
          settings.name("feature_layer"));
  }
  check(!settings.has_tensor("v.post_ln.weight"), "{}: it norms the last states (v.post_ln), which is not supported",
        settings.shards().name());
  vision["num_hidden_layers"] = layers + 1;
  vision["model_type"] = clip ? "clip_vision_model" : "siglip_vision_model";
  vision["hidden_act"] = !uses(settings, "gelu") ? "quick_gelu" : clip ? "gelu" : "gelu_pytorch_tanh";
  config["vision_feature_layer"] = -2;
  config["vision_feature_select_strategy"] = clip ? "default" : "full";
  config["multimodal_projector_bias"] = settings.has_tensor("mm.0.bias");
}

void read_siglip(json& config) {
  config["vision_config"].update({{"model_type", "siglip_vision_model"}, {"hidden_act", "gelu_pytorch_tanh"}});
}

void read_idefics3_eyes(const GgufSettings& settings, json& config) {
  read_siglip(config);
  config["scale_factor"] = settings.has("projector.scale_factor") ? settings.integer("projector.scale_factor") : 2;
}

void read_gemma3_eyes(const GgufSettings& settings, json& config) {
  read_siglip(config);
  const json& vision = config["vision_config"];
  const int64_t side = vision["image_size"].get<int64_t>() / vision["patch_size"].get<int64_t>();
  const int64_t factor = settings.has("projector.scale_factor") ? settings.integer("projector.scale_factor") : 4;
  const int64_t blocks = factor > 0 ? side / factor : 0;
  config["mm_tokens_per_image"] = blocks * blocks;
}

void read_qwen2_eyes(const GgufSettings& settings, json& config) {
  json& vision = config["vision_config"];
  const auto width = vision["hidden_size"].get<int64_t>();
  const GgufShards& shards = settings.shards();
  // Files have another number in feed_forward_length; the one of both layers' rows that is wider is theirs.
  const int64_t inner = std::max(rows_of(shards, "v.blk.0.ffn_up.weight"), rows_of(shards, "v.blk.0.ffn_down.weight"));
  vision["embed_dim"] = width;
  vision["mlp_ratio"] = inner / width;
  vision["hidden_size"] = rows_of(settings.shards(), "mm.2.weight");
}

void read_qwen2_5_eyes(const GgufSettings& settings, json& config) {
  json& vision = config["vision_config"];
  const int64_t layers = vision["depth"].get<int64_t>(), period = settings.integer("n_wa_pattern");
  json all = json::array();
  for (int64_t layer = 1; layer <= layers; ++layer)
    if (period == 0 || layer % period == 0) all.push_back(layer - 1);
  vision["fullatt_block_indexes"] = all;
  vision["window_size"] = settings.has("window_size") ? settings.integer("window_size") : 112;  // as in all released
  vision["out_hidden_size"] = rows_of(settings.shards(), "mm.2.weight");
}

void read_qwen3_eyes(const GgufSettings& settings, json& config) {
  json& vision = config["vision_config"];
  json told = json::array();
  for (int64_t layer = 0; layer < vision["depth"].get<int64_t>(); ++layer)
    if (settings.has_tensor(fmt::format("v.deepstack.{}.norm.weight", layer))) told.push_back(layer);
  vision["deepstack_visual_indexes"] = told;
  vision["num_position_embeddings"] = rows_of(settings.shards(), "v.position_embd.weight");
  vision["out_hidden_size"] = rows_of(settings.shards(), "mm.2.weight");
}

void read_pixtral_eyes(const GgufSettings& settings, json& config) {
  json& vision = config["vision_config"];
  vision["model_type"] = "pixtral";
  vision["hidden_act"] = uses(settings, "silu") ? "silu" : "gelu";
  vision["rope_theta"] = 10000.0;
  config["vision_feature_layer"] = -1;
  config["multimodal_projector_bias"] = settings.has_tensor("mm.1.bias");
  config[merge_key] = merged_side(settings);
  if (settings.has_tensor("mm.patch_merger.weight")) return;
  config["model_type"] = "llava";
  config["vision_feature_select_strategy"] = "full";
}

/// A kind of eyes, with the token that stands for a picture's positions and how its pictures are prepared.
struct EyeReader {
  std::string_view projector;
  void (*read)(const GgufSettings&, json& config);
  const char *token_key, *token;
  const char* processor;
  int64_t resample;  ///< see Resample
};
constexpr EyeReader eye_readers[] = {
    {"mlp", read_llava_eyes, "image_token_index", "<image>", "CLIPImageProcessor", 3},
    {"idefics3", read_idefics3_eyes, "image_token_id", "<image>", "Idefics3ImageProcessor", 1},
    {"gemma3", read_gemma3_eyes, "image_token_id", "<image_soft_token>", "Gemma3ImageProcessor", 2},
    {"qwen2vl_merger", read_qwen2_eyes, "image_token_id", "<|image_pad|>", "Qwen2VLImageProcessor", 3},
    {"qwen2.5vl_merger", read_qwen2_5_eyes, "image_token_id", "<|image_pad|>", "Qwen2VLImageProcessor", 3},
    {"qwen3vl_merger", read_qwen3_eyes, "image_token_id", "<|image_pad|>", "Qwen2VLImageProcessor", 3},
    {"pixtral", read_pixtral_eyes, "image_token_index", "[IMG]", "PixtralImageProcessor", 3}};

const EyeReader& reader_of(const GgufShards& eyes) {
  eye_architecture_of(eyes);  // throws for a kind that is none of these
  return *std::ranges::find(eye_readers, projector_of(eyes.metadata()), &EyeReader::projector);
}

/// Throws Error for numbers that can't be counted with.
GgufSettings settings_of(const GgufShards& eyes) {
  const GgufSettings settings(eyes, eye_architecture_of(eyes));
  for (const auto& [key, most] : {std::pair("block_count", 1024), {"patch_size", 256}, {"embedding_length", 1 << 16}})
    settings.all().integer(settings.name(key), 1, most);
  settings.all().integer_or(settings.name("image_size"), 1, 1, most_picture_side);
  return settings;
}

json square_size(int64_t side) { return {{"height", side}, {"width", side}}; }

}  // namespace

std::string_view gguf_eyes_token(const GgufShards& eyes) { return reader_of(eyes).token; }

json gguf_eyes_config(const GgufShards& eyes, const json& text, int32_t token) {
  const GgufArchitecture& architecture = eye_architecture_of(eyes);
  const GgufSettings settings = settings_of(eyes);
  json config = {{"model_type", architecture.model_types.front()}, {"text_config", text}};
  json& vision = config["vision_config"] = json::object();
  for (const KeyRow& row : architecture.keys)
    if (!row.optional || settings.has(row.gguf)) vision[row.hugging_face] = settings.value(row);
  const EyeReader& reader = reader_of(eyes);
  reader.read(settings, config);
  config[reader.token_key] = token;
  if (settings.has("projection_dim") && projector_of(eyes.metadata()) != "mlp")  // whose files have CLIP's
    check(settings.integer("projection_dim") == text.value("hidden_size", int64_t{0}),
          "{}: its eyes are of another model: they give {} columns, the text has {}", eyes.name(),
          settings.integer("projection_dim"), text.value("hidden_size", int64_t{0}));
  return config;
}

json gguf_eyes_processor(const GgufShards& eyes) {
  const GgufSettings settings = settings_of(eyes);
  const EyeReader& reader = reader_of(eyes);
  const std::string_view processor = reader.processor;
  const auto optional = [&](const char* key, int64_t otherwise) {
    return settings.has(key) ? settings.integer(key) : otherwise;
  };
  json image = {{"image_processor_type", processor}, {"resample", reader.resample}};
  for (const char* key : {"image_mean", "image_std"}) {
    image[key] = json::array();
    for (const double value : settings.all().numbers(settings.name(key), -1e6, 1e6))
      image[key].push_back(shortest_number(value));
  }
  json result = json::object();
  if (processor.starts_with("Qwen")) {
    const int64_t patch = settings.integer("patch_size");
    const int64_t merge = settings.all().integer_or(settings.name(merge_key), 2, 1, most_merged_side);
    const int64_t position = patch * merge * patch * merge;
    image.update({{"patch_size", patch},
                  {"merge_size", merge},
                  {"min_pixels", optional("image_min_pixels", 8 * position)},
                  {"max_pixels", optional("image_max_pixels", 4096 * position)}});
  } else {
    const int64_t side = settings.all().integer(settings.name("image_size"), 1, most_picture_side);
    if (processor.starts_with("Idefics3")) {
      image.update({{"max_image_size", {{"longest_edge", side}}},
                    {"size", {{"longest_edge", optional("preproc_image_size", 4 * side)}}}});
    } else if (processor.starts_with("Pixtral")) {
      image["size"] = {{"longest_edge", side}};
      result.update({{"patch_size", settings.integer("patch_size")}, {merge_key, merged_side(settings)}});
    } else if (processor.starts_with("CLIP") && has_class_token(settings)) {
      image.update({{"size", {{"shortest_edge", side}}}, {"do_center_crop", true}, {"crop_size", square_size(side)}});
    } else {
      image.update({{"size", square_size(side)}, {"do_center_crop", false}});
    }
  }
  result["image_processor"] = image;
  return result;
}

}  // namespace vkformer
