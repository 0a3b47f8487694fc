#pragma once
// Text generation: the prompt through one recorded program (prefill), then one token at a time through another
// (decode), over a key-value cache that stays on the device. With an encoder, that runs once before.

#include "models/model.h"
#include "models/parameters.h"

namespace vkformer {

/// Sizes of a Generator's caches.
struct GeneratorShape {
  int64_t rows = 1;          ///< sequences side by side (prompts times beams)
  int64_t capacity = 0;      ///< most positions of one, prompt and generated together; 0: the model's context
  bool left_padded = false;  ///< prompts of unlike lengths are padded on the left
  /// How many of the likeliest tokens the host wants of each row; 0: the logits of all. A CPU device gives all anyway,
  /// which are near, and so does any device where it is more than most_top_k.
  int64_t choices = 0;
  int64_t usable = 0;  ///< of the tokens below this one; 0: of all
  /// The `choices` come with their log-probabilities, of a softmax over the whole vocabulary, instead of their logits.
  bool log_probabilities = false;
  /// Most positions of all rows in one run, but for 8 of each: longer prompts take several, so that their temporaries
  /// stay small.
  int64_t run_positions = 2048;
  /// Prompts are padded to powers of two, and from this many positions on to multiples of it; 0: to powers of two. A
  /// plan for a GPU, where a program more takes 10 ms to record, has a step of its own.
  int64_t prompt_step = 0;
  /// Type of keys and values in the caches, f32 or one of 16 bits; nothing: usual_cache_type() of a plan's device, f32
  /// without a plan.
  std::optional<DType> cache_type = {};
  /// Each row has a position of its own, in programs of one token a row (see SessionGroup).
  bool apart = false;
  /// Of a Generator of one row, whose caches are that row of caches of rows apart; -1: they are its own.
  int64_t cache_row = -1;
  // Encoder-decoder.
  int64_t sources = 1;           ///< `rows` is a multiple of it; rows of one source lie side by side
  int64_t source_positions = 0;  ///< most positions of a source; 0: the model's context

  bool operator==(const GeneratorShape&) const = default;
};

/// What a Generator will allocate and record, known before anything is.
struct GenerationPlan {
  GeneratorShape shape;  ///< with the model's sizes where the one asked for has 0
  StoreLayout layout;    ///< parameters, constants, caches
  int64_t cache_bytes = 0;
  std::vector<std::string> caches;  ///< of the decoder's own positions
};
/// On GPUs the 16-bit type of most of the weights, f16 beside encoded ones, f32 beside f32 and for heads that are no
/// whole vectors of 16 bytes then, which decoding reads. On CPU devices, whose kernels for decoding take no other, f32.
DType usual_cache_type(const Model& model, const DeviceFacts& device);
/// Throws Error for sizes that can't be, and for a model that does not write text. `device`: where it will run, if that
/// is known; it decides on cache_type, choices and prompt_step.
/// `weights`: the layout that has the parameters and constants, and to which the caches are added.
GenerationPlan plan_generation(const Model& model, const GeneratorShape& shape, StoreLayout weights,
                               const DeviceFacts* device = nullptr);
/// The same where they are yet to be laid out, in these blocks.
GenerationPlan plan_generation(const Model& model, const GeneratorShape& shape,
                               const std::vector<ParameterBlock>& blocks, const DeviceFacts* device = nullptr);
/// One run over the next `positions` tokens of each row; with a device, fused for it and with operands
/// for its matrix cores (runtime/passes).
Graph build_generation(const Model& model, const GeneratorShape& shape, int64_t positions,
                       const DeviceFacts* device = nullptr);
/// The pass of Generator::encode(): keys and values of a batch of sources, into the cache.
Graph build_encoder(const Model& model, const GeneratorShape& shape, const DeviceFacts* device = nullptr);
/// Positions of the program that runs the first `length` tokens of prompts, or as many of them as one run takes, behind
/// `position`: padding keeps the number of programs small.
int64_t prompt_positions(const GeneratorShape& shape, int64_t length, int64_t position = 0);

/// A program that generating runs, and a position at which it typically does.
struct GenerationProgram {
  std::string name;
  Graph graph;
  int64_t position = 0;
};
/// The encoder if there is one, "prefill of 64" for prompts of these lengths, and "decode".
std::vector<GenerationProgram> generation_programs(const Model& model, const GenerationPlan& plan,
                                                   std::span<const int64_t> prompts, const DeviceFacts& device);

/// Runs a model token by token. Prompts are rows x n ids, row after row; so are sources.
class Generator {
 public:
  /// `model` must outlive it. `weights` has its parameters and constants, as make_model_store() or a Trainer's do; the
  /// generator reads them there. `workspace`: of others that never run at the same time; nullptr: its own.
  Generator(Backend& backend, const Model& model, std::shared_ptr<Store> weights, const GeneratorShape& shape,
            std::shared_ptr<Workspace> workspace = nullptr);
  /// With weights of its own, zeros: see store().
  Generator(Backend& backend, const Model& model, const GeneratorShape& shape = {});

  /// Compiles what encode(), a prefill() of `prompt` tokens a row and decode() will run: before weights are loaded, so
  /// that what can't be made or has no memory is known first, and the driver compiles meanwhile. What is not prepared
  /// is compiled when it first runs.
  void prepare(int64_t prompt);

  Store& store() { return *store_; }
  const GeneratorShape& shape() const { return shape_; }
  int64_t capacity() const { return shape_.capacity; }
  int64_t position() const { return position_; }
  /// The tokens [rows, shape().choices] of the last logits, the likeliest first; empty where logits are of all.
  std::span<const int32_t> choices() const { return choices_; }

  /// Encoder-decoder: runs the encoder once and keeps what the decoder's layers need of it. `mask` is 0 for padding;
  /// empty: there is none.
  void encode(std::span<const int32_t> source, std::span<const int32_t> mask = {});
  /// Runs the prompts (for a decoder behind an encoder: the start ids) from position 0 and gives the logits after their
  /// last tokens, [rows, V], or what the shape says of choices, [rows, shape().choices]. `pads`: how many of each row's
  /// first ids are padding (with left_padded). Throws Error when they are empty, longer than the capacity, or have an
  /// id outside the vocabulary.
  std::vector<float> prefill(std::span<const int32_t> prompts, std::span<const int32_t> pads = {});
  /// Runs further tokens of the one row there is, and gives the logits after the last. Throws Error like prefill().
  std::vector<float> append(std::span<const int32_t> tokens);
  /// From now on logits are of all tokens, whatever the shape says of choices; false: as it says.
  void give_all_logits(bool all) { all_logits_ = all && shape_.choices > 0; }
  /// As if nothing from `position` on had been run.
  void rewind(int64_t position);
  /// As if one more had been run: another program has written it to the caches.
  void skip_one() { ++position_; }
  /// Appends one token to each row and gives the logits after it.
  std::vector<float> decode(std::span<const int32_t> tokens);
  std::vector<float> decode(int32_t token) { return decode(std::span(&token, 1)); }
  /// Row r goes on from what was row parents[r] (beam search).
  void reorder(std::span<const int32_t> parents);
  /// The programs that decode(), the last prefill() and encode() replay; nullptr where there is none yet.
  const Program* decode_program() const { return decode_[all_logits_].get(); }
  const Program* prefill_program() const { return last_prefill_; }
  const Program* encoder_program() const { return encoder_.get(); }

 private:
  Program& encoder();
  Program& program_of(int64_t positions);
  void check_tokens(std::span<const int32_t> tokens) const;
  std::vector<float> run(Program& program, std::span<const int32_t> tokens);
  std::vector<float> run_prompts(std::span<const int32_t> tokens);

  Backend& backend_;
  const Model& model_;
  GeneratorShape shape_;
  int64_t position_ = 0;
  std::vector<std::string> caches_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;  ///< of all programs
  std::vector<int32_t> mask_, pads_, source_mask_, choices_;
  bool all_logits_ = false;
  // Two of each: with the shape's choices, and of all logits.
  std::map<int64_t, std::unique_ptr<Program>> prefills_[2];  ///< by padded length
  std::unique_ptr<Program> decode_[2];
  const Program* last_prefill_ = nullptr;
  std::unique_ptr<Program> encoder_, reorder_;
};

}  // namespace vkformer
