#pragma once
// BERT (Devlin et al. 2018), RoBERTa (Liu et al. 2019; XLM-RoBERTa and CamemBERT are the same on other texts),
// DistilBERT (Sanh et al. 2019), MPNet (Song et al. 2020), ELECTRA (Clark et al. 2020), ALBERT (Lan et al. 2019),
// DeBERTa of versions 2 and 3 (He et al. 2021) and Nomic's BERT (Nussbaum et al. 2024): one encoder with norms after
// each residual, and a head for masked words, for a class of the sequence, for a class of each token or for where an
// answer begins and ends. The families differ in data: names of tensors, where positions start, token types, where
// dropout is; MPNet also has a bias by relative position, the same for all layers, embeddings of ELECTRA and ALBERT may
// have another width than the layers, ALBERT's layers share their parameters, DeBERTa attends to distances, too, and
// Nomic's turns queries and keys by their positions, has gated feed-forward layers and no biases in its layers but
// those of norms.

#include <optional>

#include "models/families/encoder_head.h"
#include "models/families/rotary.h"
#include "shaders/elementwise/elementwise.h"

namespace vkformer {

struct BertConfig {
  using Head = EncoderHead;
  std::string family = "bert";  ///< or "roberta", "xlm-roberta", "camembert", "distilbert", "mpnet", "electra",
                                ///< "albert", "deberta-v2", "nomic_bert"
  bool is_roberta() const { return family == "roberta" || family == "xlm-roberta" || family == "camembert"; }
  bool is_mpnet() const { return family == "mpnet"; }
  bool is_electra() const { return family == "electra"; }
  bool is_albert() const { return family == "albert"; }
  bool is_deberta() const { return family == "deberta-v2"; }
  bool is_nomic() const { return family == "nomic_bert"; }
  Head head = Head::masked;
  int64_t vocabulary = 30522;
  int64_t context = 512;       ///< positions that a sequence may have
  int64_t first_position = 0;  ///< row of the position table for the first of them; RoBERTa, MPNet: padding id + 1
  int64_t segments = 2;        ///< rows of the token type table; DistilBERT, MPNet and DeBERTa have none: 0
  int64_t width = 768;         ///< C
  int64_t embedding_size = 0;  ///< of the embeddings, where they are projected to the width; 0: the width
  int64_t layers = 12;
  int64_t groups = 0;  ///< of layers that follow each other and share their parameters (ALBERT); 0: none do
  int64_t heads = 12;
  int64_t inner = 3072;  ///< F
  Activation activation = Activation::gelu;
  double epsilon = 1e-12;
  bool tied = true;  ///< the masked head's matrix is the word embedding
  bool sinusoidal =
      false;  ///< DistilBERT: positions begin as sinusoids and are never trained; files have what they like
  double dropout = 0.1;
  double attention_dropout = 0.1;  ///< of attention weights
  double head_dropout = 0.1;       ///< of the heads but the masked one, where they have it
  double deviation = 0.02;
  HeadClasses classes = {};  ///< of classifiers only

  std::optional<RotaryConfig> rotary = {};  ///< of Nomic's

  // DeBERTa.
  int64_t buckets = 256;   ///< of distances to either side; 0: each distance has its own
  int64_t farthest = 512;  ///< distances that the buckets are for
  int64_t distance_span() const { return buckets > 0 ? buckets : farthest; }
  Activation pooler_activation = Activation::gelu;
  double pooler_dropout = 0;  ///< of the first token

  bool has_position_table() const { return !is_deberta() && !is_nomic(); }
  bool projects_embeddings() const { return embedding_size > 0; }
  int64_t embedding_width() const { return projects_embeddings() ? embedding_size : width; }

  /// Throws Error naming file and key for values that can't be, and for what is not supported: other heads, regression
  /// of several numbers, use as a decoder, relative positions.
  static BertConfig from_json(const JsonObject& config);
  /// What `transformers` loads.
  nlohmann::json to_json() const;
};

/// Token types are all 0 in a pass without segments. DistilBERT, MPNet and DeBERTa take no segments: their passes throw
/// Error.
/// The first id of each row has the first position, so padding belongs behind the tokens.
Model make_bert(const BertConfig& config);

}  // namespace vkformer
