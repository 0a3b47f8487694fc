#pragma once
// What tools know of a model family: its parameters as data and its build functions. models/families has the families.

#include <array>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <variant>

#include "models/images/picture_shape.h"
#include "runtime/backend.h"
#include "runtime/files/json_file.h"

namespace vkformer {

/// One tensor of the model's file, under its Hugging Face name.
struct ParameterSpec {
  enum class Start : uint8_t { normal, uniform, zeros, ones, constant, computed };
  enum class Training : uint8_t {
    always,   ///< every loss depends on it
    reached,  ///< updated only where the loss depends on it (XLNet's mask embedding)
    never,    ///< loaded and saved as it is (Marian's final_logits_bias)
    frozen,   ///< of a model with an adapter: loaded, neither trained nor saved
  };
  /// Where files have it when it is a part of a larger tensor there (see models/stacked_weights.h).
  struct Stack {
    enum class Layout : uint8_t {
      columns,  ///< of one expert: output r of the parameter is column first + step * r
      rows,     ///< of one expert: whole rows, behind those of the `first` parts before it, of `step`
      groups,   ///< of all heads: `spans` of each of `count` groups of `step` rows
    };
    /// Rows of each group, which the parameter has of one group after the other.
    struct Span {
      int64_t first = 0, rows = 0;
    };
    std::string tensor;            ///< its name
    int64_t index = 0, count = 1;  ///< which of its parts; of groups `index` means nothing
    int64_t first = 0, step = 1;
    Layout layout = Layout::columns;
    std::vector<Span> spans = {};  ///< one behind the other
  };
  std::string name;
  Shape shape;
  Start start = Start::normal;
  double deviation = 0.02;  ///< of a normal start; the bound of a uniform one; the value of a constant one
  Training training = Training::always;
  /// Other names under which files may store it: a tied tensor has one for each of its uses.
  std::vector<std::string> other_names = {};
  bool one_tensor = true;                             ///< those names mean one tensor: copies in a file must be equal
  bool optional = false;                              ///< files may leave it out: it has its start value then
  std::function<std::vector<float>()> computed = {};  ///< its values at a computed start
  bool anew = false;  ///< has it whatever the files say: a head that is trained for something else
  /// Neighbours in a block that share this name are one tensor of all their rows under that name, too; graphs read and
  /// train them through it, not alone.
  std::string joint = {};
  std::optional<Stack> stack = {};
  /// Of the store's copy, see store_weights_as(); what is trained needs f32.
  DType dtype = DType::f32;
  bool turned = false;   ///< the store's copy is transposed, see store_weights_as()
  bool apart = false;    ///< the parts of its joint tensor are stored in unlike types: graphs read each alone
  bool adapter = false;  ///< of the model's adapter: not in its files, but in the adapter's
  bool in_host = false;  ///< the store's copy lies in host memory, see place_weights()
  /// Of the store's copy.
  TensorType stored() const { return {turned ? Shape{shape[1], shape[0]} : shape, dtype}; }
  bool trains() const { return training == Training::always || training == Training::reached; }
  /// Weight decay applies to parameters with two or more dimensions, embeddings included.
  bool decayed() const { return shape.rank() >= 2; }
};

/// A tensor that is computed once and never trained or saved (rotary angles, sinusoids, buckets of distances).
struct ConstantSpec {
  std::string name;
  TensorType type;
  std::function<std::vector<float>()> values;  ///< of an integer tensor: whole numbers
};

/// How one pass through a model runs. Optional values may be absent.
struct Pass {
  Value ids = {};   ///< i32 [B, T]; of the decoder where there is an encoder
  Value mask = {};  ///< optional i32 [B, S]: 0 for keys that nobody may see; XLNet also [B, T, S]
  /// Optional i32 [B, T]: which text of its row a position belongs to, 0: none. Layers with a state read it, not
  /// `mask`.
  Value texts = {};
  Value segments = {};  ///< optional i32 [B, T]: token types; absent: all 0
  /// Optional f32 [B, T, C], of a Decoder: added to what the ids give (nothing for -1), what stands there of pictures.
  /// Of more columns, n C, those behind the first C are added to the states behind the first n - 1 layers (Qwen3-VL,
  /// "deepstack").
  Value pictured = {};
  /// Optional f32 [B * T, angle_columns], of a Decoder: what Model::angles gives for each position, where pictures
  /// stand.
  Value angles = {};
  Value seed = {};  ///< optional i32 [2] {seed, step}: dropout is on

  /// Optional i32 [1, T, S], of a Decoder: which of the cache's first S keys each position sees, in place of causality;
  /// in layers with a window, too.
  Value sees = {}, sees_in_window = {};

  // Over a cache of earlier positions.
  Value position = {};   ///< optional i32 [1]: where in the cache the first of the T positions goes
  int64_t capacity = 0;  ///< positions the cache holds: S of the mask
  /// Where keys and values of all that this run sees are to be formed (Model::forms_keys): most positions of that, its
  /// own T among them (T: it begins at 0).
  int64_t seen = 0;
  /// Optional i32 [B]: what each row counts its first position as, when that is not `position`; or [B, T], each one.
  Value first_positions = {};
  /// Where positions are counted from: absent is 0.
  Value first() const { return first_positions ? first_positions : position; }

  // Encoder-decoder.
  /// i32 [sources, S]: the encoder's ids; or its frames, see Model::source_type(). Of a model that sees, its patches:
  /// f32 [B, positions, columns], see PictureShape.
  Value source = {};
  Value source_mask = {};  ///< optional i32 [sources, S]
  Value memory = {};       ///< the encoder's output [sources, S, C]; absent: the decoder reads the cache of remember()
  int64_t sources = 0, source_capacity = 0;  ///< of that cache; B is a multiple of `sources` (beams lie side by side)

  // XLNet's query stream (two-stream attention).
  Value predicted = {};   ///< optional i32 [B, P]: index b * T + t of each position t to be predicted; -1: of none
  Value query_mask = {};  ///< i32 [B, T, T]: which keys the prediction of position t may see
};

/// What a model's logits are compared with in training.
enum class Task : uint8_t {
  causal,    ///< targets [B, T] are the ids one position further
  masked,    ///< targets [B, T] belong to their own positions (masked language model)
  tag,       ///< the same, with classes of tokens
  seq2seq,   ///< as `masked`, of the decoder, whose ids are the targets one position back
  classify,  ///< targets [B], one class a sequence
  answer,    ///< logits [B, T, 2], targets [B, 2]: the positions of an answer's first and last token
  score,     ///< each of the logits [B, classes] has a sigmoid of its own (cross-encoders, several labels a text)
  number,    ///< logits [B, 1] are numbers (regression)
  states,    ///< nothing: there is no head, and its logits are the hidden states
  vector,    ///< nothing: logits [B, E] are one vector of each text or picture
  match,     ///< nothing: logits [B, B] are the cosines of each picture with each text
};

/// How a model learns which of two texts is preferred (see training_graph.h).
struct Preference {
  enum class Loss : uint8_t { dpo, ipo, simpo };
  Loss loss = Loss::dpo;
  double beta = 0.1;
  double margin = 1;  ///< of SimPO: gamma
  /// Whether texts are told beside the model that the training began with.
  bool compares() const { return loss != Loss::simpo; }
  /// Whether log-likelihoods are means over a text's tokens, not sums.
  bool per_token() const { return loss != Loss::dpo; }
};

/// How a model learns which texts are similar (see training_graph.h).
struct Similarity {
  int64_t texts = 2;  ///< of a row of the data: a query, what is similar to it, and others that are not
  double scale = 20;  ///< of cosines: 1 / temperature
};

struct Adapter;

/// A model of any family: parameters as data and functions that add its layers to a graph.
struct Model {
  std::string family;  ///< Hugging Face model_type
  Task task = Task::causal;
  std::vector<ParameterSpec> parameters = {};
  int64_t vocabulary = 0;
  int64_t source_vocabulary = 0;  ///< of an encoder with a vocabulary of its own; 0: it shares the decoder's
  int64_t context = 0;            ///< most positions; 0: no limit
  int64_t source_context = 0;     ///< those of an encoder that has not the decoder's number; 0: it has
  /// An encoder that reads sound: columns of a frame (log-mel filters), and how many frames become one of its
  /// positions. 0: it reads ids.
  int64_t frame_columns = 0, frames_per_position = 1;
  PictureShape picture = {};  ///< of a model that sees
  int64_t layers = 0;
  int64_t segments = 0;  ///< token types: values of "segments" lie below; 0: it takes no segments
  /// RoBERTa: the id of padding; -1: none. Positions are counted over the ids that are not padding.
  int64_t padding = -1;
  /// SigLIP: an id that fills each text up to the context, and counts like its own; -1: none does.
  int64_t fill = -1;
  /// Padding belongs before the tokens: the class is read from a sequence's last position.
  bool padding_in_front = false;
  /// Its layers keep states of what went before (Role::state), which can't go back to an earlier position.
  bool recurrent = false;
  /// Positions of a picture see all of it, also what is behind them: a run that has any takes one picture, no more,
  /// with Pass::sees, and where layers have a window of so many positions, Pass::sees_in_window.
  bool whole_pictures = false;
  int64_t window = 0;
  /// Latent attention: whether a run of so many positions of each row forms keys and values of the `seen` ones, its own
  /// among them, that it sees behind a cache. From position 0 on all runs of several positions do.
  std::function<bool(int64_t rows, int64_t positions, int64_t seen)> forms_keys = {};
  /// Of a model whose pictures have rows and columns, in positions of three numbers (Qwen2-VL, "M-RoPE"): cosines and
  /// sines of a position that counts as these, `angle_columns` of them. Other positions count as one number, which is
  /// not their place in a cache: a picture takes as many as its longer side has.
  std::function<std::vector<float>(const std::array<int64_t, 3>& place)> angles = {};
  int64_t angle_columns = 0;
  bool query_stream = false;                   ///< batches may have predictions (XLNet's language model)
  std::vector<std::string> dropout_keys = {};  ///< of the config: all probabilities of dropout
  double label_smoothing = 0;                  ///< of the training loss
  /// Of a causal model: it learns which of two texts is preferred.
  std::optional<Preference> preference = {};
  /// Of a model without a head: it learns which texts are similar.
  std::optional<Similarity> similarity = {};
  std::vector<ConstantSpec> constants = {};
  /// Encoder-decoder only: pass.source -> memory [sources, S, C].
  std::function<Value(Graph&, const Pass&)> encode = {};
  /// Encoder-decoder only: keys and values of pass.memory for every decoder layer, written to the cache.
  std::function<void(Graph&, const Pass&)> remember = {};
  /// Hidden states [B, T, C] after the last norm, of the decoder where there is an encoder.
  std::function<Value(Graph&, const Pass&)> hidden = {};
  /// Hidden states [.., C] -> logits [.., V]; of a classifier [B, T, C] -> [B, classes].
  std::function<Value(Graph&, const Pass&, Value hidden)> head = {};
  std::shared_ptr<const nlohmann::json> config = {};  ///< as written to config.json
  /// Low-rank products beside those of its weights, which are frozen: see models/adapters/lora.h.
  std::shared_ptr<const Adapter> adapter = {};

  bool sees() const { return picture.patch > 0; }
  /// It takes ids; what only sees has no vocabulary.
  bool reads_ids() const { return vocabulary > 0; }
  bool has_encoder() const { return static_cast<bool>(encode); }
  /// It writes text token by token.
  bool generates() const { return task == Task::causal || task == Task::seq2seq; }
  /// The vocabulary that an encoder, or a model without one, reads.
  int64_t input_vocabulary() const { return source_vocabulary > 0 ? source_vocabulary : vocabulary; }
  /// Of a batch of so many sources of so many of the encoder's positions: i32 [sources, positions], or f32 frames
  /// [sources, positions * frames_per_position, frame_columns].
  TensorType source_type(int64_t sources, int64_t positions) const;
  /// Whether sources have padding: all frames of a window are seen, its silence, too.
  bool masks_sources() const { return frame_columns == 0; }
  /// Most positions of the encoder; 0: no limit.
  int64_t source_limit() const { return source_context > 0 ? source_context : context; }
  int64_t parameter_count() const;
};

/// Of the states between its layers, C, by what the configs of families call it; 0 where that does not say.
int64_t width_of(const Model& model);

// Batches -----------------------------------------------------------------------------------------------------------

/// Positions of a sequence where neither the model nor the user sets a limit.
inline constexpr int64_t usual_positions = 512;

/// Sizes of a batch and which optional inputs it has.
struct BatchShape {
  int64_t rows = 1;              ///< B
  int64_t positions = 1;         ///< T, of the decoder where there is an encoder
  int64_t source_positions = 0;  ///< S of the encoder
  bool mask = false;             ///< padding: input "mask" [B, T], or "source_mask" [B, S] where there is an encoder
  bool segments = false;         ///< input "segments" [B, T]
  bool packed = false;           ///< rows hold several texts: inputs "texts" (from 1; 0: none) and "positions" [B, T]
  bool numbered = false;         ///< input "positions" [B, T]: what each token's position counts as, of causal models
  int64_t predictions = 0;       ///< P > 0: two-stream attention, inputs "order" [B, T] and "predicted" [B, P]

  bool operator==(const BatchShape&) const = default;
};

/// Values for the inputs of a program, by name: integers, or the frames of a source.
using FeedValues = std::variant<std::span<const int32_t>, std::span<const float>>;
using Feed = std::vector<std::pair<std::string_view, FeedValues>>;
/// The integers of one input; none where there is no such input.
std::span<const int32_t> integers_of(const Feed& feed, std::string_view input);
void write_feed(Program& program, const Feed& feed);

/// Throws Error for integers that can't be the inputs of a batch of this shape: ids and token types that the model has
/// not; in RoBERTa padding that is not masked, or before a token; masks with gaps of a model with states.
void check_feed(const Model& model, const BatchShape& shape, const Feed& feed);

/// Throws Error where a model's results, rows of `columns`, are no finite numbers.
void check_results(std::span<const float> results, size_t columns);

/// Adds the inputs of a batch: "ids", and "source", "mask", "source_mask", "segments", "texts", "positions",
/// "order" (see MaskRule::earlier), "predicted" as the shape asks for them. A model that sees has the patches of B
/// pictures as "source", and "ids" only where it reads texts, too: its pictures have one size, whatever T says. Throws
/// Error for sizes the model can't take.
Pass add_inputs(Graph& graph, const Model& model, const BatchShape& shape);
/// Encoder (if any), decoder, head: the logits of a batch.
Value add_logits(Graph& graph, const Model& model, Pass pass);

}  // namespace vkformer
