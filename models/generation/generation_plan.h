#pragma once
// What generating text allocates and records, known before anything is: the sizes of caches, the programs over them.

#include <set>

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
  std::vector<std::string> states;  ///< of all that went before
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
/// What one run takes of each row. Of two, the one that sees more has the larger temporaries, else the longer one.
struct RunShape {
  int64_t seen = 0;       ///< Pass::seen
  int64_t positions = 1;  ///< its next tokens
  bool each = false;      ///< with logits behind each of them, not behind the last alone
  /// Pictures stand at some of them, of so many times the model's columns (see Pass::pictured); 0: none do.
  int64_t pictured = 0;

  RunShape(int64_t count, int64_t before = 0, bool all = false) : seen(before), positions(count), each(all) {}
  auto operator<=>(const RunShape&) const = default;
};
/// One run; with a device, fused for it and with operands for its matrix cores (runtime/passes).
Graph build_generation(const Model& model, const GeneratorShape& shape, const RunShape& run,
                       const DeviceFacts* device = nullptr);
/// Whether the device may go on with a token that it chose by itself. Runs of one token then have "drawn" [1, 1] where
/// there are choices to draw from, by their inputs "draw" [1, 5] and "draw_count" [1] (shaders/draw/draw.h).
bool can_run_ahead(const Model& model, const GeneratorShape& shape);
/// What a run tells of each of its positions.
struct Scoring {
  bool all_logits = false;  ///< else of one token, and of the likeliest
  int64_t likeliest = 0;

  auto operator<=>(const Scoring&) const = default;
};
/// The same run for Generator::score() and visit_logits(): all outputs are of so many rows at most, and of the part of
/// the rows [shape.rows * run.positions] that their names have.
Graph build_scoring(const Model& model, const GeneratorShape& shape, const RunShape& run, const Scoring& scoring,
                    const DeviceFacts* device = nullptr);
inline constexpr int64_t scoring_rows = 512;
std::string scoring_part(const char* name, int64_t part);
/// A head of the decoder's cross-attention.
struct CrossHead {
  int64_t layer = 0, head = 0;

  auto operator<=>(const CrossHead&) const = default;
};
/// A run of `positions` tokens of one row behind what encode() has read of the one source, without a cache of their
/// own: of each of these heads the weights [positions, source_positions], by head_output(), and of the tokens below
/// `vocabulary` "log_sum_exp" and "own_logits", those of the input "own" (see build_scoring()).
Graph build_alignment(const Model& model, const GeneratorShape& shape, int64_t positions,
                      std::span<const CrossHead> heads, int64_t vocabulary);
std::string head_output(const CrossHead& head);
/// The pass of Generator::encode(): keys and values of a batch of sources, into the cache.
Graph build_encoder(const Model& model, const GeneratorShape& shape, const DeviceFacts* device = nullptr);
/// The program that runs the first `length` tokens of prompts, or as many of them as one run takes, behind `position`:
/// padding keeps the number of programs small.
RunShape prompt_run(const Model& model, const GeneratorShape& shape, int64_t length, int64_t position = 0);

/// The programs that prompts of these lengths run through.
std::set<RunShape> prompt_runs(const Model& model, const GeneratorShape& shape, std::span<const int64_t> prompts);

/// A program that generating runs, and a position at which it typically does.
struct GenerationProgram {
  std::string name;
  Graph graph;
  int64_t position = 0;
};
/// The encoder if there is one, "prefill of 64" for prompts of these lengths, "decode", and where so many tokens are
/// guessed at a time "check of 4" for each number of rows that checks them, of models that can go back. Of rows that
/// grow apart "decode of 8 texts" alone.
std::vector<GenerationProgram> generation_programs(const Model& model, const GenerationPlan& plan,
                                                   std::span<const int64_t> prompts, const DeviceFacts& device,
                                                   int64_t guesses = 0);

}  // namespace vkformer
