// `vkformer tune`: the fastest kernel for every node of a model, measured and kept.

#include "tools/cli/tune.h"

#include "runtime/files/atomic_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/end_signals.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

namespace fs = std::filesystem;

fs::path tuning_file(const CommonFlags& flags, const DeviceFacts& facts) {
  if (flags.tuning == "none") throw UsageError("with --tuning none there is nowhere to keep what is measured");
  const fs::path file = flags.tuning.empty() ? Tuning::usual_file(facts) : fs::path(flags.tuning);
  check(!file.empty(), "neither XDG_CACHE_HOME nor HOME is set; name a file with --tuning FILE");
  std::error_code ignored;  // the next line says what is wrong
  if (flags.tuning.empty()) fs::create_directories(file.parent_path(), ignored);
  const AtomicFile probe(file);
  return file;
}

namespace {

/// Reports while something is measured.
class Watch {
 public:
  explicit Watch(bool quiet) : quiet_(quiet) {}
  TuneObserver observer(std::function<void(const std::string&, const TunedProgram&)> report) {
    return {.progress =
                [this](const std::string& program, int done, int total) {
                  check_no_end_asked("programs that were measured whole are kept, if there are any");
                  if (done == 1) bar_ = std::make_unique<Progress>(total, quiet_);
                  // Losers drop out, so the total shrinks.
                  bar_->expect(total);
                  bar_->show(done, fmt::format("rounds: {}", program));
                },
            .report =
                [this, report = std::move(report)](const std::string& program, const TunedProgram& tuned) {
                  bar_.reset();
                  report(program, tuned);
                }};
  }

 private:
  bool quiet_;
  std::unique_ptr<Progress> bar_;
};

/// Without attributes: "matmul f32[12, 64, 128] f32[128, 384] ...".
std::string short_name(const std::string& signature) {
  const size_t bracket = signature.find('[');
  if (bracket == std::string::npos) return signature;
  return printable(signature.substr(0, signature.find(' ')) + signature.substr(signature.rfind(' ', bracket)), 90);
}

std::string failure_text(const TunedProgram::Failure& failure) {
  return fmt::format("{} failed and was left out of {}: {}", failure.candidate, short_name(failure.signature),
                     failure.message);
}

void print_program(const std::string& name, const TunedProgram& tuned) {
  if (tuned.kinds.empty()) {
    print("{}: nothing left to measure\n", name);
    return;
  }
  print("{}\n{:>5} {:>12} {:>12} {:>6}  {:<30} {}\n", name, "nodes", "heuristic ms", "best ms", "ratio", "kernel",
        "node");
  for (const TunedKind& kind : tuned.kinds)
    print("{:>5} {:>12.4f} {:>12.4f} {:>6.2f}  {:<30} {}\n", kind.count, kind.heuristic_seconds * 1e3,
          kind.chosen_seconds * 1e3, kind.heuristic_seconds / kind.chosen_seconds,
          kind.chosen == kind.heuristic ? kind.chosen : kind.heuristic + " -> " + kind.chosen,
          short_name(kind.signature));
  for (const auto& failure : tuned.failures) print("{}\n", failure_text(failure));
  if (tuned.seconds_after > 0)
    print("{}: {:.3f} ms before, {:.3f} ms tuned ({:+.1f} %); the single nodes predict {:.3f} ms less{}\n", name,
          tuned.seconds_before * 1e3, tuned.seconds_after * 1e3, 100 * (tuned.seconds_after / tuned.seconds_before - 1),
          tuned.predicted_gain() * 1e3, tuned.kept ? "" : "; no faster, so the heuristic's kernels stay");
  else
    print("{}: the heuristic's kernels are the best\n", name);
  flush_output();
}

}  // namespace

void use_tuning(Backend& backend, const CommonFlags& flags, bool written) {
  for (Backend* part : backend.parts()) use_tuning(*part, flags, written);
  if (!backend.parts().empty()) return;
  const bool reference = flags.device == "reference";
  if (reference && !flags.tuning.empty() && flags.tuning != "none" && !written)
    throw UsageError("--tuning chooses among a device's kernels, of which the reference has none; leave it out");
  if (flags.tuning == "none" || reference) return;
  const fs::path file = flags.tuning.empty() ? Tuning::usual_file(backend.facts()) : fs::path(flags.tuning);
  check(flags.tuning.empty() || written || fs::exists(file), "--tuning {}: there is no such file",
        file.generic_string());
  std::string ignored;
  auto tuning = std::make_shared<Tuning>(Tuning::load(file, backend.facts(), ignored));
  // A file that the user named is not written over: it may be another device's, or none of this kind.
  check(ignored.empty() || flags.tuning.empty(), "--tuning: {}{}", ignored,
        written ? "; name another file to write" : "");
  if (!ignored.empty() && !flags.quiet) say("measured choices are ignored: {}", ignored);
  backend.set_tuning(std::move(tuning));
}

void keep_tuning(Backend& backend, const CommonFlags& flags, const Tuning& measured) {
  Tuning all = backend.tuning() ? *backend.tuning() : Tuning();
  all.merge(measured);
  all.save(tuning_file(flags, backend.facts()), backend.facts());
  backend.set_tuning(std::make_shared<Tuning>(std::move(all)));
}

void tune_missing(Backend& backend, const CommonFlags& flags,
                  const std::function<void(Tuning&, const TuneObserver&)>& measure) {
  if (!flags.tune) return;
  backend.check_one_device("--tune");
  tuning_file(flags, backend.facts());
  Watch watch(flags.quiet);
  int64_t kinds = 0;
  double gain = 0;
  Tuning tuning = backend.tuning() ? *backend.tuning() : Tuning();
  measure(tuning, watch.observer([&](const std::string&, const TunedProgram& tuned) {
    kinds += static_cast<int64_t>(tuned.kinds.size());
    if (tuned.kept) gain += tuned.predicted_gain();
    for (const auto& failure : tuned.failures)
      if (!flags.quiet) say("{}", failure_text(failure));
  }));
  if (kinds == 0) return;
  keep_tuning(backend, flags, tuning);
  if (!flags.quiet) say("tuned {} kinds of nodes; predicted gain {:.3f} ms a run of every program", kinds, gain * 1e3);
}

std::optional<Roof> roof_of(const Backend& backend) { return backend.tuning() ? backend.tuning()->roof : std::nullopt; }

void tune(const TuneFlags& flags) {
  const Model model = model_or_shape(flags.model);
  if (!model.generates() && !(flags.dtype.empty() && flags.cache_dtype.empty()))
    throw UsageError(
        fmt::format("--dtype and --cache-dtype are of models that write text, this {} model is trained; "
                    "--precision is the training step's",
                    model.family));
  if (flags.batch == 0 && flags.accumulate > 1) throw UsageError("--accumulate is of training steps, and --batch is 0");
  const auto prompts = prompt_lengths(flags.prompts, model, flags.context);
  auto backend = open_backend(flags.common, {}, true);
  backend->check_one_device("tune");
  const auto file = tuning_file(flags.common, backend->facts());
  Watch watch(flags.common.quiet);
  catch_end_signals();
  Tuning measured;  // empty: whatever is known of these nodes is measured again
  double before = 0, after = 0, gain = 0;
  const TuneObserver observer = watch.observer([&](const std::string& name, const TunedProgram& tuned) {
    print_program(name, tuned);
    if (tuned.kept) {
      before += tuned.seconds_before;
      after += tuned.seconds_after;
      gain += tuned.predicted_gain();
    }
    keep_tuning(*backend, flags.common, measured);  // what was measured stays, even if this is interrupted
  });
  if (flags.batch > 0) {
    const BatchShape shape = usual_batch(model, flags.batch, flags.context);
    const TrainSettings settings{.accumulate = flags.accumulate, .products = float_type(flags.precision)};
    tune_training(*backend, plan_training(model, settings, {shape}, *backend), measured, observer);
  }
  if (model.generates()) {
    Model stored = model;
    store_weights_as(stored, flags.model, flags.dtype);
    GeneratorShape shape{.capacity = flags.context, .cache_type = cache_type(flags.cache_dtype)};
    make_room(stored, shape, *backend);
    tune_generation(*backend, stored, shape, prompts, measured, observer, flags.draft_tokens);
    shape.rows = flags.texts;
    shape.apart = true;
    if (flags.texts > 1 && !stored.has_encoder()) tune_generation(*backend, stored, shape, prompts, measured, observer);
  }
  print("{} kinds of nodes measured, predicted gain {:.3f} ms a run of every program; ", measured.size(), gain * 1e3);
  if (after > 0) print("programs that changed: {:.3f} ms before, {:.3f} ms tuned; ", before * 1e3, after * 1e3);
  print("kept in {}\n", file.generic_string());
}

}  // namespace vkformer
