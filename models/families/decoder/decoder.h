#pragma once
// Decoders with rotary positions and gated feed-forward layers, as data: LLaMA (Touvron et al. 2023) and its kin, with
// Hugging Face's tensor names (linear weights are [out, in]). A family reads its config.json into a Decoder.

#include <array>

#include "models/families/encoder_head.h"
#include "models/families/rotary.h"
#include "models/model.h"
#include "shaders/gated_unit/gated_unit.h"

namespace vkformer {

struct Decoder {
  enum class Norm : uint8_t {
    rms,        ///< RMSNorm
    rms_plain,  ///< RMSNorm without a gain
    layer,      ///< LayerNorm with gain and bias
    gain,       ///< LayerNorm with a gain alone
    plain,      ///< LayerNorm with neither
  };
  /// Where the norms of attention and feed-forward layer stand.
  enum class Norms : uint8_t {
    before,    ///< of what goes in
    after,     ///< of what comes out, before it is added (OLMo 2)
    around,    ///< both (Gemma 2)
    parallel,  ///< one, of what goes into both, which do not see each other's results (Cohere)
  };
  /// What a layer begins with: attention, what stands for it, with a state instead of a cache, or nothing.
  enum class Mixer : uint8_t { attention, latent_attention, delta_net, short_convolution, mamba, none };
  /// What of the queries, and of the keys, is normed together.
  enum class QueryNorms : uint8_t { none, head, whole };
  /// What differs from layer to layer.
  struct Layer {
    int64_t window = 0;    ///< a position sees itself and the window - 1 before it; 0: all before it
    int rotary = 0;        ///< which of `rotaries` turns queries and keys; -1: none
    bool experts = false;  ///< its feed-forward layer is a mixture of experts
    Mixer mixer = Mixer::attention;
    bool feeds = true;  ///< it ends with a feed-forward layer or a mixture, not with its mixer
    int64_t head_width = 0, kv_heads = 0, inner = 0;  ///< where they are not the decoder's
    bool keys_as_values = false;                      ///< its values are projected as its keys are
    bool mamba_beside = false;                        ///< a state space layer reads what its attention does (Falcon-H1)
    int64_t kv_layer = -1;  ///< the layer before it whose keys and values it sees; -1: it has its own
  };
  /// Feed-forward layers of which each token takes a few.
  struct Experts {
    int64_t count = 0;         ///< E
    int64_t chosen = 0;        ///< k, for each token
    int64_t inner = 0;         ///< F of each
    int64_t shared = 0;        ///< F of one more, which every token takes; 0: there is none
    bool shared_gated = true;  ///< what it gives passes a gate of its own
    bool normalised = false;   ///< a token's weights sum to 1
    bool sigmoid = false;      ///< weights are sigmoids of logits, not shares of a softmax (DeepSeek-V3)
    double epsilon = 0;        ///< then added to the sum that they are divided by
    bool choice_bias = false;  ///< added to scores to choose by
    bool choice_row = false;   ///< which files have as a matrix of one row
    double factor = 1;         ///< of what they give
    /// Columns that they see and give, of a projection there and of one back; 0: the layer's own.
    int64_t latent = 0;
    bool bias = false;  ///< of the router, and of all that the experts have
    /// Where files have those of all experts in one tensor each, how (see ParameterSpec::Stack).
    enum class Stacks : uint8_t { none, columns, rows } stacks = Stacks::none;
    bool beside = false;  ///< layers with experts have their feed-forward layer, too, and add its results
    /// Beside it they read what the layer adds to, by norms of their own, and both results are normed (Gemma 4). Each
    /// has a factor of its own.
    bool own_norms = false;
    /// Their names in files: of the mixture in a layer, of what is in it, of the tensors of all, and of each expert's.
    /// Without gates `all_gates` has `up` alone.
    const char* name = "mlp";
    const char *router = "gate", *choice = "gate.e_score_correction_bias", *shared_name = "shared_expert";
    const char *all_gates = "experts.gate_up_proj", *all_downs = "experts.down_proj";
    const char *gate = "gate_proj", *up = "up_proj", *down = "down_proj";
    const char *to_latent = "fc1_latent_proj", *from_latent = "fc2_latent_proj";
  };

  /// Attention to one row of each position, of which every head has its own view as keys and values (DeepSeek-AI 2024,
  /// "DeepSeek-V2": multi-head latent attention). Decoder::head_width is `turned`, which is what rotaries see.
  struct Latent {
    int64_t query_rank = 0;            ///< of the queries' projection; 0: it is one matrix
    int64_t rank = 512;                ///< columns that keys and values are made of
    int64_t plain = 128, turned = 64;  ///< of a head's query; the key of those that turn is all heads'
    int64_t value_width = 128;         ///< of a head
  };

  /// Layers whose memory is a matrix a head (Yang et al. 2024, "Gated Delta Networks").
  struct DeltaNet {
    int64_t key_heads = 16, heads = 32;
    int64_t key_width = 128, value_width = 128;
    int64_t positions = 4;     ///< that their convolution sees
    bool by_key_head = false;  ///< files have the rows of input projections by key head (Qwen3-Next)
  };

  /// Layers that mix a few neighbouring positions between two gates (LFM2).
  struct Convolution {
    int64_t positions = 3;
    bool bias = false;
  };
  /// State space layers (Dao & Gu 2024, "Mamba 2").
  struct Mamba {
    int64_t heads = 128, head_width = 64;   ///< of values
    int64_t groups = 1, state_width = 256;  ///< heads of a group share their keys and queries, "B" and "C"
    int64_t positions = 4;                  ///< that their convolution sees
    bool convolution_bias = true, bias = false;
    bool normed = true;            ///< results are
    bool normed_by_group = false;  ///< those of each group by themselves
    bool normed_first = false;     ///< before they pass the gates, not behind them
    /// Of gates, values, keys, queries and steps, as they are projected; and of what the layer gives (Falcon-H1).
    std::array<double, 5> scales = {1, 1, 1, 1, 1};
    double output_scale = 1;
  };

  /// What each layer adds of its tokens alone: a row of a table for each layer, and of the embedding (Gemma 3n and 4,
  /// "per-layer embeddings").
  struct LayerInputs {
    int64_t width = 0;  ///< of a layer's; 0: there are none
    int64_t vocabulary = 0;
  };

  std::string family;  ///< model_type
  int64_t vocabulary = 32000;
  int64_t context = 2048;  ///< positions
  int64_t width = 4096;    ///< C
  int64_t inner = 11008;   ///< F
  int64_t heads = 32;
  int64_t kv_heads = 32;
  int64_t head_width = 128;  ///< D; need not be C / heads
  double epsilon = 1e-6;
  double deviation = 0.02;
  double attention_dropout = 0;
  double output_dropout = 0;   ///< of what attention and feed-forward layers give
  double embedding_scale = 1;  ///< of a token's row
  double score_scale = 0;      ///< of q k; 0: 1 / sqrt(D)
  double score_cap = 0;        ///< scores stay within it, by tanh; 0: as they are
  double logit_cap = 0;        ///< the same of logits
  double logit_scale = 1;      ///< of logits
  /// Of what attention and feed-forward layers add; of those with norms before them alone, and without shared experts.
  double residual_scale = 1;
  /// More of them (Falcon-H1): of what attention gives, of gates and what passes them, of what feed-forward layers
  /// give.
  double attention_scale = 1, inner_scale = 1, inner_output_scale = 1;
  Gate gate = Gate::silu;
  /// false: feed-forward layers, experts too, have no gate, but the square of relu (So et al. 2021, "Primer").
  bool gated = true;
  /// Names in files: of the embedding, of the layers, and of what a layer begins with, where that is one for all kinds.
  const char *embedding = "model.embed_tokens", *stack = "model.layers", *mixer = nullptr;
  const char* inner_name = "mlp";  ///< of feed-forward layers in files, and of their parts:
  const char *inner_joint = "gate_up_proj", *inner_gate = "gate_proj", *inner_up = "up_proj";
  const char* inner_down = "down_proj";
  const char* attention_output = "o_proj";  ///< its name in files
  Norm norm = Norm::rms;
  Norms norms = Norms::before;
  /// Names in files of norms that stand before or behind parts; inner_first: where no others do.
  const char *attention_before = "input_layernorm", *attention_after = "post_attention_layernorm";
  const char* inner_first = "post_attention_layernorm";
  const char *inner_before = "pre_feedforward_layernorm", *inner_after = "post_feedforward_layernorm";
  QueryNorms query_norms = QueryNorms::none;
  const char *query_norm = "q_norm", *key_norm = "k_norm";  ///< their names in files
  const char* last_norm = "model.norm";                     ///< its name in files
  bool embedding_normed = false;                            ///< what goes into the first layer is, by the same
  bool value_norms = false;                                 ///< values of each head are, without a gain
  bool norms_turned = false;                                ///< they norm what has turned, not what turns then
  bool gain_less_one = false;                               ///< files store the norms' gains minus 1
  bool joint_inputs = false;                                ///< q, k and v are one tensor in files
  bool joint_inner = false;                                 ///< gate and up are
  bool input_bias = false;                                  ///< of q, k and v
  bool output_bias = false;                                 ///< of the attention's output
  bool output_gate = false;   ///< what attention gives passes gates, which q's tensor has beside each head
  bool sinks = false;         ///< attention has them
  bool inner_bias = false;    ///< of the feed-forward layers
  bool layer_scales = false;  ///< what a layer gives is multiplied by a number of its file, which is not trained
  bool tied = false;          ///< the head is the embedding
  /// Of texts, which it tells apart by their last states instead of writing them; without a head for tokens.
  std::optional<HeadClasses> classes;
  bool whole_pictures = false;  ///< see Model
  /// An encoder, without a head: a position also sees what is behind it, of a window half to either side.
  bool both_ways = false;
  std::vector<RotaryConfig> rotaries = {{}};
  bool turns_neighbours = false;  ///< pairs that turn are neighbours (GLM), not columns of two halves
  double rotary_share = 1;        ///< of each head's columns that turn, the first ones
  std::vector<Layer> layers;
  Experts experts;
  Latent latent;
  DeltaNet delta;
  Convolution convolution;
  Mamba mamba;
  LayerInputs layer_inputs;

  bool writes() const { return !both_ways && !classes; }
  int64_t head_width_of(const Layer& layer) const { return layer.head_width ? layer.head_width : head_width; }
  int64_t kv_heads_of(const Layer& layer) const { return layer.kv_heads ? layer.kv_heads : kv_heads; }
  int64_t inner_of(const Layer& layer) const { return layer.inner ? layer.inner : inner; }
  /// Columns of a head that turn.
  int64_t turned() const { return turned(head_width); }
  int64_t turned(int64_t width) const { return static_cast<int64_t>(static_cast<double>(width) * rotary_share); }
  /// The same by one of the rotaries, whose layers have heads of one width.
  int64_t turned_by(size_t rotary) const;
};

/// `config`: what config.json says, as transformers loads it.
Model make_decoder(const Decoder& decoder, const nlohmann::json& config);

}  // namespace vkformer
