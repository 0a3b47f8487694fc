#pragma once
// Encoders of pictures: ViT (Dosovitskiy et al. 2020, "An Image is Worth 16x16 Words"), DeiT (Touvron et al. 2020),
// DINOv2 (Oquab et al. 2023), and the towers of CLIP (Radford et al. 2021) and SigLIP (Zhai et al. 2023) that see. One
// builder: a product makes a position of each patch, positions are learned, the layers are those of an EncoderStack.

#include "models/families/encoder_head.h"
#include "models/families/vision/encoder_stack.h"

namespace vkformer {

struct VisionConfig {
  enum class Head : uint8_t {
    classes,  ///< ..ForImageClassification: logits [B, classes]
    states,   ///< ..Model of ViT, DeiT and DINOv2: the hidden states [B, T, C]
    vector,   ///< of the towers: [B, E]
  };
  std::string family = "vit";  ///< or "deit", "dinov2", "clip_vision_model", "siglip_vision_model"
  std::string prefix;          ///< before all names of tensors, of a tower in another model: "vision_tower."
  bool is_deit() const { return family == "deit"; }
  bool is_dinov2() const { return family == "dinov2"; }
  bool is_clip() const { return family == "clip_vision_model"; }
  bool is_siglip() const { return family == "siglip_vision_model"; }
  Head head = Head::classes;
  bool taught = false;   ///< DeiT: the mean of the classes by the first token and of those by the second
  PictureShape picture;  ///< that it takes
  int64_t table_height = 0, table_width = 0;  ///< pixels of the pictures that its positions are for
  EncoderStack stack;
  int64_t mlp_ratio = 4;   ///< DINOv2's F / C, before gates
  int64_t projection = 0;  ///< E of CLIP; 0: the pooled state itself is the vector
  double deviation = 0.02;
  HeadClasses classes = {};

  /// Rows of the table of positions.
  int64_t table_rows() const { return picture.front + (table_height / picture.patch) * (table_width / picture.patch); }
  /// Whether positions are interpolated.
  bool resizes() const { return table_height != picture.height || table_width != picture.width; }

  /// Throws Error naming file and key for values that can't be, and for what is not supported: other heads, patches
  /// that are not square.
  static VisionConfig from_json(const JsonObject& config);
  /// The same of a tower, whose config may lie in that of a model with two; `projection`: 0 for none.
  static VisionConfig tower(const JsonObject& config, const std::string& family, int64_t projection,
                            const std::string& prefix = "");
  /// What `transformers` loads.
  nlohmann::json to_json() const;
};

/// DINOv2's pictures may have another size than the one its positions are for: what the image processor beside the
/// model gives, kept under this key of the config, [height, width].
inline constexpr const char* picture_size_key = "picture_size";
void settle_picture_size(nlohmann::json& config, const std::filesystem::path& model);

/// Names of tensors that a family gives its encoder of pictures.
struct VisionNames {
  std::string embeddings;
  std::string_view patches;                  ///< after that: weight [C, channels, P, P]
  std::string_view positions;                ///< [1, rows, C], or of CLIP and SigLIP [rows, C]
  std::vector<std::string_view> front = {};  ///< tokens before the patches
  std::string first_norm = "";               ///< CLIP's, of the embeddings
  std::string last_norm;                     ///< of the hidden states, or of CLIP's pooled one
};
VisionNames names_of(const VisionConfig& config);
std::vector<ParameterSpec> parameters_of(const VisionConfig& config);
std::vector<ConstantSpec> constants_of(const VisionConfig& config);
/// Patches of the pass's source -> the states [B, positions, C] behind the first `layers` layers, before the norm that
/// follows all of them.
Value picture_states(Graph& graph, const VisionConfig& config, const Pass& pass, int64_t layers);

Model make_vision(const VisionConfig& config);

}  // namespace vkformer
