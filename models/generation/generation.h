#pragma once
// Text generation: the prompt through one recorded program (prefill), then one token at a time through another
// (decode), over a key-value cache that stays on the device. With an encoder, that runs once before.

#include "models/generation/decode_pair.h"
#include "models/generation/generation_plan.h"
#include "models/generation/pictured_positions.h"

namespace vkformer {

/// What a model makes of tokens that are given: the natural logarithm of each one's probability, and the tokens that
/// would have been the likeliest in its place, `likeliest` of each, the likeliest first.
struct TokenScores {
  std::vector<double> log_probabilities;
  std::vector<int32_t> likeliest;
  std::vector<double> likeliest_log_probabilities;
};

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

  /// From now on prompts of a Decoder may have ids behind the vocabulary, at which pictures stand. What it gives must
  /// outlive the last such prompt.
  void show(ShownPictures pictures) { pictures_ = std::move(pictures); }

  Store& store() { return *store_; }
  const GeneratorShape& shape() const { return shape_; }
  int64_t capacity() const { return shape_.capacity; }
  /// Behind all that was run, be it in vain: a run that throws may have changed states. See rewind().
  int64_t position() const { return position_; }
  /// What the model counts a position as at which text goes on: less, where pictures before it count as fewer positions
  /// than they take.
  int64_t counted_as(int64_t position) const { return counted_.at(position); }
  /// The tokens [rows, shape().choices] of the last logits, the likeliest first; empty where logits are of all.
  std::span<const int32_t> choices() const { return choices_; }

  /// Encoder-decoder: runs the encoder once and keeps what the decoder's layers need of it. `mask` is 0 for padding;
  /// empty: there is none.
  void encode(std::span<const int32_t> source, std::span<const int32_t> mask = {});
  /// The same of sources of frames, of all positions of the shape's sources: see Model::source_type().
  void encode(std::span<const float> frames);
  /// Runs the prompts (for a decoder behind an encoder: the start ids) from position 0 and gives the logits after their
  /// last tokens, [rows, V], or what the shape says of choices, [rows, shape().choices]. `pads`: how many of each row's
  /// first ids are padding (with left_padded). Throws Error when they are empty, longer than the capacity, or have an
  /// id outside the vocabulary.
  std::vector<float> prefill(std::span<const int32_t> prompts, std::span<const int32_t> pads = {});
  /// Runs further tokens of the one row there is, and gives the logits after the last. Throws Error like prefill().
  std::vector<float> append(std::span<const int32_t> tokens);
  /// Goes on with `tokens` [rows, n] from position() and scores, behind each, the token of `next` [rows, n] (any where
  /// nobody asks) against `likeliest` others. Without padding in front. Throws Error like prefill().
  TokenScores score(std::span<const int32_t> tokens, std::span<const int32_t> next, int64_t likeliest = 0);
  /// Goes on in the same way, and calls `take` with the logits [V] behind each token, number r * n + i.
  void visit_logits(std::span<const int32_t> tokens,
                    const std::function<void(size_t token, std::span<const float> logits)>& take);
  /// From now on logits are of all tokens, whatever the shape says of choices; false: as it says.
  void give_all_logits(bool all) { all_logits_ = all && shape_.choices > 0; }
  /// Whether it can go back to any position: a model with states can't.
  bool can_rewind() const { return !model_.recurrent; }
  /// Of so many positions, those that it can go back to: none of a model with states, but for all that were run.
  int64_t kept(int64_t positions) const { return model_.recurrent && positions != position_ ? 0 : positions; }
  /// Where a prompt may be run in two pieces: behind so many of its ids or, where that is within a picture that is seen
  /// as a whole, before it (`later`: behind it).
  size_t cut(std::span<const int32_t> ids, size_t count, bool later = false) const;
  /// As if nothing from `position` on had been run. Throws Error for one that it can't go back to.
  void rewind(int64_t position);
  /// As if one more had been run: another program writes it to the caches.
  void skip_one() {
    forget_ahead();
    ++position_;
  }
  /// Runs further tokens of the one row there is, in one run, and gives the logits after each: as many rows as tokens,
  /// and of choices() likewise. There must be room for a power of two of them. Throws Error like prefill().
  std::vector<float> extend(std::span<const int32_t> tokens);
  /// Appends one token to each row and gives the logits after it. Of one row with choices the device begins the next
  /// run by itself, with the token that it expects; if another one is appended, or anything else is called, that run
  /// was in vain. Not where runs are profiled.
  std::vector<float> decode(std::span<const int32_t> tokens);
  std::vector<float> decode(int32_t token) { return decode(std::span(&token, 1)); }
  /// false: the device waits for each token.
  void run_ahead(bool on) { may_run_ahead_ = on; }
  /// How it expects the text that follows: Search::expected().
  void expect(const ExpectedText& text) { expected_ = text; }
  AheadCounts ahead() const { return pair_ ? pair_->counts() : AheadCounts{}; }
  /// To be called when another program has changed the caches.
  void forget_ahead() {
    if (pair_) pair_->forget();
  }
  /// Row r goes on from what was row parents[r] (beam search).
  void reorder(std::span<const int32_t> parents);
  /// A program over its weights and caches, which runs when none of its own does.
  std::unique_ptr<Program> compile(Graph graph) { return backend_.compile(std::move(graph), store_, {}, workspace_); }
  /// The programs that decode(), the last prefill(), encode() and the last extend() replay; nullptr where there is none
  /// yet.
  const Program* decode_program() const { return decode_[all_logits_].get(); }
  const Program* prefill_program() const { return last_prefill_; }
  const Program* encoder_program() const { return encoder_.get(); }
  const Program* extension_program() const { return last_extension_; }

 private:
  Program& encoder();
  Program& program_of(const RunShape& run);
  /// Whether decode() lets two programs run in turns.
  bool runs_ahead() const;
  DecodePair& decode_pair();
  void check_tokens(std::span<const int32_t> tokens, bool pictured = false) const;
  void check_room(int64_t positions) const;
  std::vector<float> run(const RunShape& shape, std::span<const int32_t> tokens);
  std::vector<float> results_of(const Program& program);
  std::vector<float> run_prompts(std::span<const int32_t> tokens);
  /// How many of a text's next tokens may go into one run: all, or of a model that sees pictures as wholes those before
  /// the next picture, or that.
  size_t may_run(std::span<const int32_t> tokens) const;
  /// Calls `run` with what lies in a program of that shape: the tokens of all rows, and where in a row they begin.
  void for_pieces(std::span<const int32_t> tokens,
                  const std::function<void(const RunShape& shape, std::span<const int32_t> piece, size_t begin)>& run);
  void write_inputs(Program& program, const RunShape& shape, std::span<const int32_t> tokens);
  /// Writes what stands at ids behind the vocabulary, which become -1.
  void write_pictures(Program& program, const RunShape& shape, std::span<const int32_t> tokens, std::span<int32_t> ids);
  /// .. those that no token is in.
  void write_position(Program& program, int64_t position, bool pictured = false);
  Program& scoring_program(const Scoring& scoring, const RunShape& run);

  Backend& backend_;
  const Model& model_;
  GeneratorShape shape_;
  int64_t position_ = 0;
  std::vector<std::string> caches_, states_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Workspace> workspace_;  ///< of all programs
  std::vector<int32_t> mask_, pads_, source_mask_, choices_;
  ShownPictures pictures_;
  PicturedPositions counted_;  ///< what cache positions count as, of a model with Model::angles
  bool encoded_ = false, all_logits_ = false, may_run_ahead_ = true;
  // Two of each: with the shape's choices, and of all logits.
  std::map<RunShape, std::unique_ptr<Program>> prefills_[2];
  std::unique_ptr<Program> decode_[2];
  std::unique_ptr<DecodePair> pair_;  ///< of which decode_[0] is the first
  ExpectedText expected_;
  std::map<std::pair<Scoring, RunShape>, std::unique_ptr<Program>> scoring_;
  const Program *last_prefill_ = nullptr, *last_extension_ = nullptr;
  std::unique_ptr<Program> encoder_, reorder_;
};

}  // namespace vkformer
