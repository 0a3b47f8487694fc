#include "tools/cli/train_run.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/training/average.h"
#include "models/training/trained_files.h"
#include "models/weights.h"
#include "runtime/check.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/output.h"
#include "tools/cli/shared_training.h"

namespace vkformer {

namespace {

/// For the run's page.
nlohmann::json facts_of(TrainFlags& flags, const TrainJob& job, const Backend& backend, const RunState& state) {
  auto files = nlohmann::json::object();
  for (const RunFile& file : state.files) files[file.role] = file.path;
  const Model& model = *job.model;
  // As the options are called, without those that mean nothing here; what was left to others, as that.
  nlohmann::json settings;
  const nlohmann::json all = settings_of(flags);
  const JobKind& kind = kind_of_files(state.files);
  for (const auto& [name, value] : all.items()) {
    const bool left = (name == "dropout" || name == "label_smoothing") && value < 0;
    if (name == "checkpoint_exactly" || value == "" || (name == "stride" && value < 0) ||
        (name == "gradient_parts" && value == 1) || !takes(kind, option_of_setting(name)))
      continue;
    settings[name == "dtype" ? "precision" : name] = left ? nlohmann::json("the model's") : value;
  }
  return {{"run", std::filesystem::absolute(flags.out).lexically_normal().generic_string()},
          {"model", fmt::format("{}: {} layers, {} parameters, {}", model.family, model.layers, model.parameter_count(),
                                input_text(model))},
          {"data", job.summary},
          {"device", backend.describe()},
          {"settings", std::move(settings)},
          {"files", std::move(files)}};
}

/// Takes the run, if it is still where this process found it before it had the lock.
CheckpointWriter take_run(const TrainFlags& flags, int64_t iteration) {
  CheckpointWriter writer(flags.out, static_cast<int>(std::max(flags.average, flags.keep)), flags.checkpoint_every);
  check(writer.latest_step() == (flags.resume ? std::optional(iteration) : std::nullopt),
        "{} was in use by another training process, which has changed it; begin again with --resume", flags.out);
  return writer;
}

}  // namespace

TrainRun::TrainRun(TrainFlags& flags, const TrainJob& job, Backend& backend, Trainer& trainer, RunState state)
    : flags_(flags),
      job_(job),
      data_(*job.data),
      backend_(backend),
      trainer_(trainer),
      state_(std::move(state)),
      first_(state_.iteration),
      writer_(take_run(flags, first_)),
      metrics_(flags.out, state_.iteration, facts_of(flags, job, backend, state_)),
      progress_(flags.settings.iterations, flags.common.quiet) {
  if (flags.resume) saved_ = first_;
  if (!flags.follows_best()) return;
  const std::string metric = flags.keep_best.empty() ? "loss" : flags.keep_best;
  best_ = std::make_unique<BestCheckpoint>(std::filesystem::path(flags.out) / "best", metric);
  if (flags.average_best > 0) good_ = std::make_unique<BestCheckpoints>(flags.out, metric, flags.average_best);
}

void TrainRun::train() try { train_to_end(); } catch (const DeviceLost& lost) {
  lose_device(lost);
} catch (const OtherProcessStopped& other) {
  progress_.clear();
  fail("{}; after iteration {}; {}", other.what(), state_.iteration, way_on());
}

void TrainRun::train_to_end() {
  catch_end_signals();
  started_ = now();
  if (flags_.resume && state_.iteration < flags_.settings.iterations) {
    metrics_.resumed(state_.iteration);
    say_if_rate_jumps();
    say_if_fewer_are_kept();
  }
  try {
    // A run that was killed between this checkpoint and its evaluation makes up for it.
    const bool within = first_ > 0 && first_ < flags_.settings.iterations;
    if (within && first_ % flags_.evaluate_every == 0 && data_.validation_batches() > 0 && !evaluated())
      report(metrics_.last_training_loss(), false);
    while (state_.iteration < flags_.settings.iterations && !end_was_asked() && !stops_early() && !out_of_time())
      iterate();
  } catch (const Interrupted&) {
    // What was under way begins again when the run is resumed.
  }
  progress_.clear();
  report_speed();
  if (out_of_time()) say("ended at iteration {}: {:g} minutes are over", state_.iteration, flags_.minutes);
  if (saved_ != state_.iteration) save();  // before the evaluation: nobody has to wait for that
  try {
    finish();
  } catch (const Interrupted&) {
    progress_.clear();
    say("stopped at iteration {} before its evaluation; vkformer train --resume --out {} makes up for it",
        state_.iteration, flags_.out);
  }
  if (best_ && best_->iteration() > 0)
    say("best by {}: {:.4f} at iteration {}, in {}; {} itself is iteration {}", best_->metric(), best_->value(),
        best_->iteration(), (std::filesystem::path(flags_.out) / "best").generic_string(), flags_.out,
        state_.iteration);
  if (!end_was_asked()) say_what_next();
}

void TrainRun::say_what_next() const {
  if (flags_.common.quiet || flags_.common.json) return;
  const JobKind& kind = kind_of_files(state_.files);
  const bool adapter = !flags_.lora.empty();
  say("{} has the {}, and all curves in run.html; use it: {}", flags_.out, adapter ? "adapter" : "model",
      adapter ? fmt::format("--adapter {} with the model", flags_.out)
              : fmt::format("vkformer {} {} {}", kind.verb, flags_.out, kind.behind));
}

/// More iterations stretch a schedule: where the old one had come down the new one is still high.
void TrainRun::say_if_rate_jumps() const {
  const double was = metrics_.last_learning_rate(), is = learning_rate_at(flags_.settings, first_);
  constexpr double jump = 1.5;
  if (flags_.common.quiet || flags_.given.contains("--learning-rate") || !(is > jump * was || was > jump * is)) return;
  say("the learning rate goes from {:.2g} to {:.2g} here: the schedule now is that of {} iterations", was, is,
      flags_.settings.iterations);
}

void TrainRun::say_if_fewer_are_kept() const {
  const int64_t kept = std::max(flags_.average, flags_.keep),
                more = std::ssize(kept_checkpoints(flags_.out, flags_.checkpoint_every)) - kept;
  if (flags_.given.contains("--keep") && more > 0 && !flags_.common.quiet)
    say("{} more than the last {} will be removed once an iteration is done", counted(more, "checkpoint"), kept);
}

void TrainRun::finish() {
  if (stops_early()) {
    say("ended early: {} without a better {}", counted(flags_.early_stopping, "evaluation"), best_->metric());
    average();
  } else if (state_.iteration < flags_.settings.iterations && !out_of_time()) {
    say("stopped at iteration {}; continue with: vkformer train --resume --out {}", state_.iteration, flags_.out);
  } else {
    const bool more = state_.iteration > first_ || (data_.validation_batches() > 0 && !evaluated());
    if (more && !flags_.no_last_evaluation) {
      const bool finite = report(metrics_.last_training_loss(), true);
      flush();
      if (finite) prove();
    } else if (!more && !out_of_time()) {
      say("nothing to do: {} of {} iterations are done; give more --iterations", state_.iteration,
          flags_.settings.iterations);
    }
    average();
  }
}

void TrainRun::iterate() {
  const TrainSettings& s = flags_.settings;
  const int64_t i = state_.iteration + 1;
  const double begin = now();
  DataBatch batch;
  int64_t tokens = 0, seen = 0;
  const auto micro_batch = [&](int64_t micro) {
    interrupt_if_asked();
    batch = data_.training_batch((i - 1) * s.accumulate + micro);
    if (micro == seen) {  // for the first time
      tokens += batch.tokens;
      ++seen;
    }
    return batch.view();
  };
  const double loss = step_of_all(trainer_, i, micro_batch);
  const double seconds = now() - begin, speed = static_cast<double>(tokens) / seconds;
  tokens_ += tokens;
  spent_ += seconds;
  const bool finite = std::isfinite(loss) && std::isfinite(trainer_.gradient_norm());
  if (finite) {
    overflows_in_row_ = 0;
    prove();
  } else {
    const auto what =
        fmt::format("the loss is {}, its gradient's norm {}", std::abs(loss), std::abs(trainer_.gradient_norm()));
    if (!forgives_overflow(what)) diverge(what);
  }
  state_.iteration = i;
  metrics_.training(i, loss, learning_rate_at(s, i), trainer_.gradient_norm(), speed);
  progress_.show(i, fmt::format("loss {:.4f}  lr {:.2e}  {:.0f} tokens/s", loss, learning_rate_at(s, i),
                                static_cast<double>(tokens_) / (now() - started_)));
  if (i == s.iterations) return;
  // The checkpoint first: an evaluation may take long and end badly, and a resumed run makes up for it. What
  // follows overflows are the weights from before them: not saved until a finite iteration has proven them.
  if (i % flags_.checkpoint_every == 0 && now() >= next_save_ && overflows_in_row_ == 0) save();
  if (i % flags_.evaluate_every == 0) report(metrics_.last_training_loss(), false);
}

/// A batch's own values may leave the range; weights that do fail for every batch.
bool TrainRun::forgives_overflow(const std::string& what) {
  constexpr int64_t most_in_row = 10;
  if (!trainer_.overflowed() || state_.iteration == 0 || ++overflows_in_row_ > most_in_row) return false;
  if (++overflows_ == 1) {
    progress_.clear();
    say("{} after iteration {}: that batch is beyond the range of f16 and left out; more than {} in a row end the run",
        what, state_.iteration, most_in_row);
  }
  return true;
}

/// The next batch stands for all: weights that are no numbers give no loss for any. In f16 a batch may have none by
/// itself, and only what is written is checked.
void TrainRun::save() {
  const double begin = now();
  if (!flags_.settings.scales_loss()) {
    const DataBatch next = data_.training_batch(state_.iteration * flags_.settings.accumulate);
    check_loss("loss", trainer_.evaluate(next.view()).value());
  }
  flush();
  save_checkpoint(writer_, flags_, state_, job_, trainer_);
  saved_ = state_.iteration;
  proven_ = false;
  // A fast device comes to the usual number of iterations before a slow disk has taken the last checkpoint.
  constexpr double most_share = 0.05;
  const bool usual = !flags_.checkpoint_exactly && flags_.average == 1;
  if (usual && flags_.checkpoint_every == TrainFlags().checkpoint_every)
    next_save_ = begin + (now() - begin) / most_share;
}

/// Writes into the run's folder, and only there: a failure because it is gone is said as that.
void TrainRun::in_place(const std::function<void()>& write) {
  writer_.check_place();
  try {
    write();
  } catch (const std::exception&) {
    writer_.check_place();
    throw;
  }
}

void TrainRun::flush() {
  in_place([&] { metrics_.flush(); });
}

/// What is known after a finite iteration: the last checkpoint is good, so those before it can go.
void TrainRun::prove() {
  if (!proven_) writer_.remove_older();
  proven_ = true;
}

void TrainRun::check_loss(const char* what, double loss) {
  if (!std::isfinite(loss) && !flags_.settings.scales_loss())
    diverge(fmt::format("the {} is {}", what, std::abs(loss)));
}

/// After a failure that is not the training's.
std::string TrainRun::way_on() const {
  if (!saved_) return "there is no checkpoint yet: begin again";
  return fmt::format("the checkpoint of iteration {} is whole: go on with vkformer train --resume --out {}", *saved_,
                     flags_.out);
}

void TrainRun::lose_device(const DeviceLost& lost) {
  progress_.clear();
  throw DeviceLost(
      fmt::format("{}; lost after iteration {}; {}; if it comes again, --segment-seconds {:g} makes shorter "
                  "submissions",
                  lost.what(), state_.iteration, way_on(), flags_.common.segment_seconds / 5),
      lost.where());
}

void TrainRun::diverge(const std::string& what) {
  progress_.clear();
  flush();
  // Whatever the learning rate: loss and gradient are those of the checkpoint's own weights.
  if (saved_ && !proven_) saved_ = writer_.withdraw();
  const std::string range =
      flags_.settings.scales_loss() ? ", or with --precision bf16, which has the range of f32" : std::string();
  check(
      state_.iteration > 0 || flags_.from.empty(),
      "{} for the first batch, before anything was learned: weights of {} are damaged, or too large for --precision {}",
      what, flags_.from, flags_.dtype);
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

bool TrainRun::out_of_time() const {
  return flags_.minutes > 0 && !end_was_asked() && now() - started_ >= 60 * flags_.minutes;
}

void TrainRun::report_speed() const {
  if (spent_ == 0 || flags_.common.quiet || flags_.common.json) return;
  double on_device = 0;
  for (const auto& [name, program] : trainer_.programs()) on_device += program->counters().seconds;
  const std::string outside =
      on_device == 0 ? "" : fmt::format("; {:.1f} % of that time outside the device", 100 * (1 - on_device / spent_));
  if (overflows_ > 0) say("{} left out, beyond the range of f16", counted(overflows_, "iteration"));
  print("{} tokens in {}: {:.0f} tokens/s{}\n", tokens_, clock_text(spent_), static_cast<double>(tokens_) / spent_,
        outside);
}

bool TrainRun::stops_early() const {
  if (flags_.early_stopping == 0 || best_->iteration() == 0) return false;
  const auto later = std::ranges::count_if(metrics_.validation_losses(),
                                           [&](const CurvePoint& p) { return p.iteration > best_->iteration(); });
  return later >= flags_.early_stopping;
}

void TrainRun::keep_if_best(const nlohmann::json& row) {
  const std::string key = best_->metric() == "loss" ? "validation_loss" : best_->metric();
  const auto value = row[key].get<double>();
  const auto write = [&](const std::filesystem::path& folder) {
    write_model(folder, job_);
    save_trained(trainer_.store(), *job_.model, folder);
  };
  best_->take(state_.iteration, value, write);
  if (good_) good_->take(state_.iteration, value, write);
}

/// In the end the mean takes the place of the trained parameters.
void TrainRun::average() {
  const bool moving = flags_.settings.moving_average > 0;
  if (flags_.average == 1 && !moving && !good_) return;
  CheckpointWriter writer(std::filesystem::path(flags_.out) / "average");
  if (writer.latest_step() == state_.iteration) return;  // the run was complete before
  std::vector<std::filesystem::path> folders =
      good_ ? good_->folders() : kept_checkpoints(flags_.out, flags_.checkpoint_every);
  if (!good_) folders.resize(std::min(folders.size(), static_cast<size_t>(flags_.average)));
  const std::vector<ParameterSpec>& parameters = job_.model->parameters;
  if (moving) trainer_.use_moving_average();
  const auto folder = writer.commit(state_.iteration, [&](const std::filesystem::path& unfinished) {
    write_model(unfinished, job_);
    if (moving)
      save_trained(trainer_.store(), *job_.model, unfinished);
    else
      average_weights(folders, parameters, unfinished / "model.safetensors");
  });
  if (!moving) load_parameters(trainer_.store(), parameters, folder);
  const std::string what =
      moving ? "moving average" : fmt::format("mean of the {} {} checkpoints", good_ ? "best" : "last", folders.size());
  const Evaluation evaluation = evaluate(job_, backend_, trainer_, true, 0, flags_.common.quiet);
  show({{"average", what}}, fmt::format("the {}, {}", what, folder.generic_string()), evaluation, true);
}

bool TrainRun::report(double loss, bool whole_split) {
  // What is best is told by the same lines each time.
  const Evaluation evaluation =
      evaluate(job_, backend_, trainer_, whole_split || best_, flags_.evaluation_batches, flags_.common.quiet);
  check_loss("validation loss", evaluation.loss);
  if (!std::isfinite(evaluation.loss)) {
    progress_.clear();
    say("iteration {}: the validation loss is {}, some of it leaves the range of f16", state_.iteration,
        std::abs(evaluation.loss));
    return false;
  }
  if (best_) in_place([&] { keep_if_best(evaluation.row); });  // before the line that says the evaluation is done
  if (!evaluation.row.is_null()) metrics_.evaluation(state_.iteration, evaluation.row);
  show({{"iteration", state_.iteration}, {"loss", loss}},
       fmt::format("iteration {:>6}  loss {:.4f}", state_.iteration, loss), evaluation, whole_split);
  return true;
}

void TrainRun::show(nlohmann::json row, const std::string& head, const Evaluation& evaluation, bool even_if_quiet) {
  progress_.clear();
  if (!evaluation.row.is_null()) row.update(evaluation.row);
  if (flags_.common.json)
    print("{}\n", row.dump());
  else if (!flags_.common.quiet || even_if_quiet)
    print("{}{}  {}\n{}", head, evaluation.brief, clock_text(now() - started_), evaluation.text);
  flush_output();
}

}  // namespace vkformer
