#include "tools/cli/train_run.h"

#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>

#include "runtime/check.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void catch_signals() {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const auto before = std::signal(signal, [](int number) {
      interrupted = 1;
      std::signal(number, SIG_DFL);  // a second Ctrl-C ends at once
    });
    // nohup. (SIGINT is ignored in whatever a script starts in the background, and is caught there all the same.)
    if (signal == SIGHUP && before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

}  // namespace

TrainRun::TrainRun(TrainFlags& flags, const Model& model, const Vocabulary& vocabulary, Trainer& trainer,
                   const TextData& text, RunState state)
    : flags_(flags),
      model_(model),
      vocabulary_(vocabulary),
      trainer_(trainer),
      text_(text),
      state_(std::move(state)),
      first_(state_.iteration),
      writer_(flags.out),
      metrics_(flags.out, state_.iteration),
      progress_(flags.settings.iterations, flags.common.quiet) {
  if (flags.resume) saved_ = first_;
}

void TrainRun::train() {
  catch_signals();
  started_ = now();
  while (state_.iteration < flags_.settings.iterations && !interrupted) iterate();
  progress_.clear();
  if (saved_ != state_.iteration) save();  // before the evaluation: nobody has to wait for that
  if (state_.iteration < flags_.settings.iterations) {
    say("stopped at iteration {}; continue with: vkformer train --resume --out {}", state_.iteration, flags_.out);
  } else if (state_.iteration > first_ || (text_.validation_windows() > 0 && !evaluated())) {
    report(metrics_.training_losses().empty() ? NAN : metrics_.training_losses().back().loss, true);
    metrics_.flush();
    prove();
  } else {
    say("complete at iteration {}; give --iterations to go on", state_.iteration);
  }
}

void TrainRun::iterate() {
  const TrainSettings& s = flags_.settings;
  const auto tokens = static_cast<double>(flags_.batch * flags_.context * s.accumulate);
  const int64_t i = state_.iteration + 1;
  const double begin = now();
  const Batch batch = text_.training_batch(s.seed, i, flags_.batch * s.accumulate);
  const double loss = trainer_.step(i, batch.ids, batch.targets);
  const double speed = tokens / (now() - begin);
  if (!std::isfinite(loss) || !std::isfinite(trainer_.gradient_norm()))
    diverge(fmt::format("the loss is {}, its gradient's norm {}", loss, trainer_.gradient_norm()));
  prove();
  state_.iteration = i;
  metrics_.training(i, loss, learning_rate_at(s, i), trainer_.gradient_norm(), speed);
  progress_.show(i, fmt::format("loss {:.4f}  lr {:.2e}  {:.0f} tokens/s", loss, learning_rate_at(s, i),
                                static_cast<double>(i - first_) * tokens / (now() - started_)));
  if (i == s.iterations) return;
  if (i % flags_.evaluate_every == 0) report(loss, false);
  if (i % flags_.checkpoint_every == 0) save();
}

/// The next batch stands for all: weights that are no numbers give no loss for any.
void TrainRun::save() {
  const Batch next = text_.training_batch(flags_.settings.seed, state_.iteration + 1, flags_.batch);
  check_loss("loss", trainer_.evaluate(next.ids, next.targets));
  metrics_.flush();
  save_checkpoint(writer_, flags_, state_, model_, vocabulary_, trainer_);
  saved_ = state_.iteration;
  proven_ = false;
}

/// What is known after a finite iteration: the last checkpoint is good, so those before it can go.
void TrainRun::prove() {
  if (!proven_) writer_.remove_older();
  proven_ = true;
}

void TrainRun::check_loss(const char* what, double loss) {
  if (!std::isfinite(loss)) diverge(fmt::format("the {} is {}", what, loss));
}

void TrainRun::diverge(const std::string& what) {
  progress_.clear();
  metrics_.flush();
  // Whatever the learning rate: loss and gradient are those of the checkpoint's own weights.
  if (saved_ == state_.iteration && !proven_) saved_ = writer_.withdraw();
  const std::string range =
      flags_.settings.scales_loss() ? ", or with --dtype bf16, which has the range of f32" : std::string();
  if (saved_)
    fail(
        "{} after iteration {}: the training has diverged; continue from the checkpoint of iteration {} with --resume "
        "and a lower --learning-rate{}",
        what, state_.iteration, *saved_, range);
  fail(
      "{} after iteration {}: the training has diverged, and no checkpoint is from before; begin anew in another "
      "--out with a lower --learning-rate{}",
      what, state_.iteration, range);
}

/// Whether the last iteration has its evaluation: a run may have been killed between its last checkpoint and that.
bool TrainRun::evaluated() const {
  const auto& losses = metrics_.validation_losses();
  return !losses.empty() && losses.back().iteration == state_.iteration;
}

double TrainRun::validation_loss(int64_t windows) {
  const BatchShape& shape = trainer_.plan().batches[0].shape;
  MeanLoss loss;
  for (int64_t first = 0; first < windows; first += shape.rows) {
    const Batch batch = text_.validation_batch(first, windows, shape.rows);
    loss.add(trainer_.evaluate({shape, {{"ids", batch.ids}, {"targets", batch.targets}}}));
  }
  return loss.value();
}

void TrainRun::report(double loss, bool whole_split) {
  const int64_t windows = text_.validation_windows();
  const int64_t used = whole_split ? windows : std::min(windows, flags_.evaluation_batches * flags_.batch);
  nlohmann::json row = {{"iteration", state_.iteration}, {"loss", loss}};
  std::string validation;
  if (used > 0) {
    const double value = validation_loss(used);
    check_loss("validation loss", value);
    metrics_.validation(state_.iteration, value);
    row["validation_loss"] = value;
    validation = fmt::format("  validation loss {:.4f}{}", value, whole_split ? " (whole split)" : "");
  }
  progress_.clear();
  if (flags_.common.json)
    print("{}\n", row.dump());
  else if (!flags_.common.quiet || whole_split)
    print("iteration {:>6}  loss {:.4f}{}  {}\n", state_.iteration, loss, validation, clock_text(now() - started_));
  flush_output();
}

}  // namespace vkformer
