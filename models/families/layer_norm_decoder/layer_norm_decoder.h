#pragma once
// Decoders with LayerNorm and feed-forward layers of one activation, as data: GPT-NeoX, OPT, Phi and their kin, with
// Hugging Face's tensor names (linear weights are [out, in]). A family reads its config.json into a LayerNormDecoder.

#include "models/families/encoder_head.h"
#include "models/families/rotary.h"
#include "models/model.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct LayerNormDecoder {
  /// Where the norms of a layer stand, and what its feed-forward layer reads.
  enum class Block : uint8_t {
    sequential,  ///< y = x + attention(first(x)), then y + feed_forward(second(y))
    parallel,    ///< x + attention(first(x)) + feed_forward(second(x))
    one_norm,    ///< the same, both of first(x): there is no second norm
    after,       ///< y = first(x + attention(x)), then second(y + feed_forward(y))
  };
  /// How a tensor of queries, keys and values has the heads, see Names::fused.
  enum class Fused : uint8_t {
    groups,  ///< each head of keys lies behind its queries, its values behind it
    parts,   ///< all queries, all keys, all values (MPT)
    pieces,  ///< four pieces, each with a quarter of all heads: their queries, values, keys (CodeGen)
  };
  static constexpr int64_t pieces = 4;
  /// What files call the tensors.
  struct Names {
    const char* tokens;
    const char* positions = nullptr;    ///< learned ones; nullptr: there are none
    const char* tokens_norm = nullptr;  ///< of the embeddings; nullptr: there is none
    const char* layer;                  ///< followed by a dot and the layer's number
    // In a layer:
    const char* first_norm;
    const char* second_norm = nullptr;
    const char* attention;        ///< of "q_proj", "k_proj" and "v_proj" or `fused`
    const char* fused = nullptr;  ///< one tensor for all three, see Fused
    const char* attention_output;
    const char *inner, *outer;  ///< into and out of the feed-forward layer's width
    // Behind the layers:
    const char* last_norm;
    const char* head = "lm_head";
    const char *project_in = nullptr, *project_out = nullptr;  ///< where embeddings have a width of their own
  };

  std::string family;  ///< model_type
  Names names;
  int64_t vocabulary = 50257;
  int64_t context = 2048;       ///< positions
  int64_t width = 2048;         ///< C
  int64_t inner = 8192;         ///< F
  int64_t embedding_width = 0;  ///< of a token's row; 0: C
  int64_t heads = 16;
  int64_t kv_heads = 0;    ///< 0: as many as heads
  int64_t head_width = 0;  ///< D; 0: C / heads
  Block block = Block::sequential;
  Fused fused = Fused::groups;
  /// Of each layer: a position sees itself and the window - 1 before it; 0: all before it.
  std::vector<int64_t> windows;
  double epsilon = 1e-5;
  double deviation = 0.02;
  double embedding_dropout = 0, attention_dropout = 0;
  double output_dropout = 0;   ///< of what attention and feed-forward layers give
  double score_scale = 0;      ///< of q k; 0: 1 / sqrt(D)
  double embedding_scale = 1;  ///< of a token's row
  Activation activation = Activation::gelu_tanh;
  bool input_bias = true;      ///< of q, k and v
  bool output_bias = true;     ///< of the attention's output
  bool inner_bias = true;      ///< of the feed-forward layers
  bool norm_bias = true;       ///< of all norms
  bool head_bias = false;      ///< of the head
  bool tied = false;           ///< the head is the embedding
  bool ends_with_norm = true;  ///< behind the last layer
  int64_t first_position = 0;  ///< row of the table of learned positions
  int64_t turned = 0;          ///< columns of each head that turn by their position, the first ones
  bool interleaved = false;    ///< those turn with their neighbours, not with those half of them further
  RotaryConfig rotary;
  bool sinusoids = false;      ///< positions are sines, then cosines, from position first_position on (XGLM)
  bool linear_biases = false;  ///< scores fall with the distance, in each head as steeply (Press et al. 2021, "ALiBi")
  double least_slope = 8;      ///< of them: that of the head they fall least in is 2 to the minus this

  /// Of texts, which it tells apart by their last states instead of writing them; without a head for tokens.
  std::optional<HeadClasses> classes = {};

  int64_t token_width() const { return embedding_width > 0 ? embedding_width : width; }
  bool projects() const { return token_width() != width; }
};

/// `config`: what config.json says, as transformers loads it.
Model make_layer_norm_decoder(const LayerNormDecoder& decoder, const nlohmann::json& config);

}  // namespace vkformer
