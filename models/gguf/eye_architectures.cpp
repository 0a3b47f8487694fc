#include "models/gguf/eye_architectures.h"

#include <fmt/format.h>

#include <deque>

#include "models/gguf/architecture_tensors.h"
#include "models/gguf/decoder_keys.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using ValueKind = KeyRow::Kind;

/// A name that is kept for rows, which don't own theirs.
std::string_view kept(std::string name) {
  static std::deque<std::string> names;
  return names.emplace_back(std::move(name));
}

std::vector<KeyRow> tower_keys() {
  return {{"embedding_length", "hidden_size"},
          {"feed_forward_length", "intermediate_size"},
          {"block_count", "num_hidden_layers"},
          {"attention.head_count", "num_attention_heads"},
          {"image_size", "image_size"},
          {"patch_size", "patch_size"},
          {"attention.layer_norm_epsilon", "layer_norm_eps", ValueKind::number}};
}

/// CLIP's and SigLIP's.
std::vector<TensorRow> tower_tensors(std::string_view tower) {
  const auto named = [&](std::string_view end) { return kept(fmt::format("{}{}", tower, end)); };
  const auto in_layer = [&](std::string_view end) { return kept(fmt::format("{}encoder.layers.{{}}.{}", tower, end)); };
  return {{.gguf = "v.class_embd", .hugging_face = named("embeddings.class_embedding"), .bare = true, .ending = ""},
          {"v.patch_embd", named("embeddings.patch_embedding")},
          {"v.position_embd", named("embeddings.position_embedding")},
          {"v.pre_ln", named("pre_layrnorm")},
          {"v.blk.{}.ln1", in_layer("layer_norm1")},
          {"v.blk.{}.attn_q", in_layer("self_attn.q_proj")},
          {"v.blk.{}.attn_k", in_layer("self_attn.k_proj")},
          {"v.blk.{}.attn_v", in_layer("self_attn.v_proj")},
          {"v.blk.{}.attn_out", in_layer("self_attn.out_proj")},
          {"v.blk.{}.ln2", in_layer("layer_norm2")},
          {"v.blk.{}.ffn_up", in_layer("mlp.fc1")},
          {"v.blk.{}.ffn_down", in_layer("mlp.fc2")},
          {"v.post_ln", named("post_layernorm")}};
}

std::vector<TensorRow> pixtral_tensors() {
  return {{"v.patch_embd", "vision_tower.patch_conv"},
          {"v.pre_ln", "vision_tower.ln_pre"},
          {"v.blk.{}.ln1", "vision_tower.transformer.layers.{}.attention_norm"},
          {"v.blk.{}.attn_q", "vision_tower.transformer.layers.{}.attention.q_proj", RowOrder::query_pairs},
          {"v.blk.{}.attn_k", "vision_tower.transformer.layers.{}.attention.k_proj", RowOrder::key_pairs},
          {"v.blk.{}.attn_v", "vision_tower.transformer.layers.{}.attention.v_proj"},
          {"v.blk.{}.attn_out", "vision_tower.transformer.layers.{}.attention.o_proj"},
          {"v.blk.{}.ln2", "vision_tower.transformer.layers.{}.ffn_norm"},
          {"v.blk.{}.ffn_gate", "vision_tower.transformer.layers.{}.feed_forward.gate_proj"},
          {"v.blk.{}.ffn_up", "vision_tower.transformer.layers.{}.feed_forward.up_proj"},
          {"v.blk.{}.ffn_down", "vision_tower.transformer.layers.{}.feed_forward.down_proj"},
          {"mm.input_norm", "multi_modal_projector.norm"},
          {"mm.patch_merger", "multi_modal_projector.patch_merger.merging_layer"},
          {"mm.1", "multi_modal_projector.linear_1"},
          {"mm.2", "multi_modal_projector.linear_2"}};
}

/// What Qwen's generations have in common.
std::vector<TensorRow> qwen_tensors() {
  constexpr std::string_view patches = "visual.patch_embed.proj.weight";
  return {{.gguf = "v.patch_embd", .hugging_face = patches, .order = RowOrder::first_picture, .bare = true},
          {.gguf = "v.patch_embd.weight.1",
           .hugging_face = patches,
           .order = RowOrder::second_picture,
           .bare = true,
           .ending = ""},
          {"v.blk.{}.ln1", "visual.blocks.{}.norm1"},
          {"v.blk.{}.attn_out", "visual.blocks.{}.attn.proj"},
          {"v.blk.{}.ln2", "visual.blocks.{}.norm2"}};
}

/// Of Qwen2-VL and Qwen2.5-VL.
std::vector<TensorRow> qwen2_tensors() {
  return with(qwen_tensors(), {{"v.blk.{}.attn_q", "visual.blocks.{}.attn.qkv", RowOrder::first_third},
                               {"v.blk.{}.attn_k", "visual.blocks.{}.attn.qkv", RowOrder::second_third},
                               {"v.blk.{}.attn_v", "visual.blocks.{}.attn.qkv", RowOrder::last_third},
                               {"v.post_ln", "visual.merger.ln_q"},
                               {"mm.0", "visual.merger.mlp.0"},
                               {"mm.2", "visual.merger.mlp.2"}});
}

TensorRow at_layers(std::string_view gguf, std::string_view hugging_face) {
  return {.gguf = gguf, .hugging_face = hugging_face, .by_rank = true};
}

std::vector<TensorRow> qwen3_tensors() {
  return with(qwen_tensors(), {{"v.patch_embd", "visual.patch_embed.proj"},
                               {"v.position_embd", "visual.pos_embed"},
                               {"v.blk.{}.attn_qkv", "visual.blocks.{}.attn.qkv"},
                               {"v.blk.{}.ffn_up", "visual.blocks.{}.mlp.linear_fc1"},
                               {"v.blk.{}.ffn_down", "visual.blocks.{}.mlp.linear_fc2"},
                               {"v.post_ln", "visual.merger.norm"},
                               {"mm.0", "visual.merger.linear_fc1"},
                               {"mm.2", "visual.merger.linear_fc2"},
                               at_layers("v.deepstack.{}.norm", "visual.deepstack_merger_list.{}.norm"),
                               at_layers("v.deepstack.{}.fc1", "visual.deepstack_merger_list.{}.linear_fc1"),
                               at_layers("v.deepstack.{}.fc2", "visual.deepstack_merger_list.{}.linear_fc2")});
}

GgufArchitecture with_older_names(GgufArchitecture architecture) {
  constexpr std::string_view up = "v.blk.{}.ffn_up", down = "v.blk.{}.ffn_down";
  for (TensorRow& row : architecture.tensors) row.gguf = row.gguf == up ? down : row.gguf == down ? up : row.gguf;
  return architecture;
}

std::vector<EyeArchitecture> make_eye_architectures() {
  std::vector<EyeArchitecture> all;
  const auto add = [&](std::string_view projector, std::vector<std::string_view> types, std::vector<KeyRow> keys,
                       std::vector<TensorRow> tensors, std::string_view vision_model = "") {
    const GgufArchitecture data{.name = "clip.vision",
                                .model_types = std::move(types),
                                .model_class = "",
                                .keys = std::move(keys),
                                .fixed = {},
                                .tensors = std::move(tensors)};
    all.push_back({projector, vision_model, data, with_older_names(data)});
  };
  add("pixtral", {"mistral3", "llava"}, without(tower_keys(), {"attention.layer_norm_epsilon"}), pixtral_tensors(),
      "pixtral");
  add("mlp", {"llava"}, tower_keys(),
      with(tower_tensors("vision_tower.vision_model."),
           {{"mm.0", "multi_modal_projector.linear_1"}, {"mm.2", "multi_modal_projector.linear_2"}}));
  add("idefics3", {"idefics3", "smolvlm"}, tower_keys(),
      with(tower_tensors("model.vision_model."), {{"mm.model.fc", "model.connector.modality_projection.proj"}}));
  add("gemma3", {"gemma3"}, tower_keys(),
      with(tower_tensors("vision_tower.vision_model."),
           {{.gguf = "mm.input_projection",
             .hugging_face = "multi_modal_projector.mm_input_projection_weight",
             .bare = true},
            {"mm.soft_emb_norm", "multi_modal_projector.mm_soft_emb_norm", RowOrder::same, 1}}));
  const std::vector<KeyRow> qwen_keys = {{"embedding_length", "hidden_size"},
                                         {"block_count", "depth"},
                                         {"attention.head_count", "num_heads"},
                                         {"patch_size", "patch_size"},
                                         {"spatial_merge_size", "spatial_merge_size", ValueKind::integer, true}};
  const std::vector<KeyRow> wider = with(qwen_keys, {{"feed_forward_length", "intermediate_size"}});
  add("qwen2vl_merger", {"qwen2_vl"}, qwen_keys,
      with(qwen2_tensors(),
           {{"v.blk.{}.ffn_up", "visual.blocks.{}.mlp.fc1"}, {"v.blk.{}.ffn_down", "visual.blocks.{}.mlp.fc2"}}));
  add("qwen2.5vl_merger", {"qwen2_5_vl"}, wider,
      with(qwen2_tensors(), {{"v.blk.{}.ffn_gate", "visual.blocks.{}.mlp.gate_proj"},
                             {"v.blk.{}.ffn_up", "visual.blocks.{}.mlp.up_proj"},
                             {"v.blk.{}.ffn_down", "visual.blocks.{}.mlp.down_proj"}}));
  add("qwen3vl_merger", {"qwen3_vl"}, wider, qwen3_tensors());
  return all;
}

const std::vector<EyeArchitecture>& eye_architectures() {
  static const std::vector<EyeArchitecture> all = make_eye_architectures();
  return all;
}

std::string known_projectors() {
  std::string names;
  for (const EyeArchitecture& one : eye_architectures())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.projector);
  return names;
}

/// Whether the second layer of a feed-forward part is called the first: it gives as many columns as states have.
bool is_older(const GgufShards& shards) {
  const auto* down = shards.find("v.blk.0.ffn_down.weight");
  if (down == nullptr || down->entry->shape.size() != 2 || shards.find("v.blk.0.ffn_gate.weight")) return false;
  const int64_t width = shards.metadata().integer("clip.vision.embedding_length", 1, 1 << 20);
  return down->entry->shape[1] == width && down->entry->shape[0] != width;
}

}  // namespace

std::string_view projector_of(const GgufMetadata& metadata) {
  for (const char* key : {"clip.vision.projector_type", "clip.projector_type"})
    if (metadata.has(key)) return metadata.text(key);
  return "mlp";  // of the first files
}

const GgufArchitecture& eye_architecture_of(const GgufShards& shards) {
  const GgufMetadata& metadata = shards.metadata();
  const std::string_view architecture = metadata.text("general.architecture");
  check(architecture == architecture_of_eyes, "{}: its architecture is {}, so it has no eyes; give an mmproj file",
        shards.name(), in_quotes(architecture));
  check(metadata.boolean_or("clip.has_vision_encoder", false), "{}: it has nothing that sees pictures", shards.name());
  const std::string_view projector = projector_of(metadata);
  for (const EyeArchitecture& one : eye_architectures())
    if (one.projector == projector) return is_older(shards) ? one.older : one.data;
  fail("{}: its eyes are of the kind {}, which is not supported; {} are", shards.name(), in_quotes(projector),
       known_projectors());
}

const EyeArchitecture* eye_architecture_of_model(std::string_view model_type, std::string_view vision_model) {
  for (const EyeArchitecture& one : eye_architectures())
    if (one.vision_model.empty() || one.vision_model == vision_model)
      for (const std::string_view type : one.data.model_types)
        if (type == model_type) return &one;
  return nullptr;
}

}  // namespace vkformer
