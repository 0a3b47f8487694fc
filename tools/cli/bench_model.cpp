// `vkformer bench -m`: prompt processing, generation and training speed, in the shape of llama-bench's table.

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/generation/session_group.h"
#include "models/parameters.h"
#include "models/training/trainer.h"
#include "runtime/check.h"
#include "runtime/measure.h"
#include "shaders/global_norm/global_norm.h"
#include "tools/cli/commands.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"

namespace vkformer {

namespace {

struct Row {
  std::string test;
  double tokens_per_second = 0, deviation = 0, best_seconds = 0;
};

/// Runs untimed, once (drivers compile at first use) and until the device is awake, then `repetitions` times.
Row measure(const Backend& backend, const std::string& test, double tokens, int repetitions,
            const std::function<void()>& work) {
  work();
  for (const double awake_at = now() + waking_seconds(backend.facts()); now() < awake_at;) work();
  double sum = 0, squares = 0, best = 1e30;
  for (int r = 0; r < repetitions; ++r) {
    const double start = now();
    work();
    const double seconds = now() - start;
    sum += tokens / seconds;
    squares += tokens / seconds * (tokens / seconds);
    best = std::min(best, seconds);
  }
  const double mean = sum / repetitions;
  return {test, mean, std::sqrt(std::max(0.0, squares / repetitions - mean * mean)), best};
}

std::vector<int32_t> some_ids(int64_t count, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back(static_cast<int32_t>(i * 7919 % vocabulary));
  return ids;
}

void bench_generation(const BenchFlags& flags, Backend& backend, Model& model,
                      const std::function<void(const Row&)>& report, ProfileReport& profile) {
  const auto nothing = [](int64_t length) { return length == 0; };
  if (std::ranges::all_of(flags.prompts, nothing) && std::ranges::all_of(flags.tokens, nothing) &&
      flags.draft_tokens == 0)
    return;
  // The last token and the guesses behind it, in runs of powers of two.
  const int64_t longest_check = flags.draft_tokens > 0 && !model.recurrent
                                    ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(flags.draft_tokens) + 1))
                                    : 0;
  const int64_t positions =
      std::max({std::ranges::max(flags.prompts), std::ranges::max(flags.tokens) + 1, longest_check + 1});
  check(model.context == 0 || positions <= model.context,
        "the context of {} positions is too short: {} are the longest prompt, or the most tokens and the one before "
        "them, or a run that checks --draft-tokens guesses",
        model.context, positions);
  // Of choices as greedy search has them.
  GeneratorShape shape{.capacity = positions, .choices = 1, .cache_type = cache_type(flags.cache_dtype)};
  make_room(model, shape, backend);
  const auto store = make_model_store(backend, model);
  initialize(*store, model.parameters, 1);
  Generator generator(backend, model, store, shape);
  generator.run_ahead(flags.run_ahead);
  for (int64_t length : flags.prompts) {
    if (length == 0) continue;
    const auto prompt = some_ids(length, model.vocabulary);
    report(measure(backend, fmt::format("pp{}", length), static_cast<double>(length), flags.repetitions,
                   [&] { generator.prefill(prompt); }));
    profile.add(fmt::format("prefill of {}", length), *generator.prefill_program());
  }
  for (int64_t count : flags.tokens) {
    if (count == 0) continue;
    report(measure(backend, fmt::format("tg{}", count), static_cast<double>(count), flags.repetitions, [&] {
      generator.prefill(std::vector<int32_t>{0});
      generator.expect({.end = count + 2});  // of the last token nobody asks what follows
      for (int64_t i = 0; i < count; ++i) {
        const auto choices = generator.choices();  // as a greedy search takes them
        generator.decode(choices.empty() ? static_cast<int32_t>(i % model.vocabulary) : choices.front());
      }
    }));
  }
  if (generator.decode_program()) profile.add("decoding of a token", *generator.decode_program());
  if (longest_check > 0) generator.prefill(std::vector<int32_t>{0});
  for (int64_t rows = 2; rows <= longest_check; rows *= 2) {
    const auto guessed = some_ids(rows, model.vocabulary);
    report(measure(backend, fmt::format("check of {}", rows), static_cast<double>(rows), flags.repetitions, [&] {
      generator.rewind(1);
      generator.extend(guessed);
    }));
  }
  if (flags.texts == 1) return;
  shape.rows = flags.texts;
  shape.capacity = (positions + 7) / 8 * 8;  // of texts side by side it is a multiple of 8
  SessionGroup group(backend, model, store, shape);
  for (int64_t count : flags.tokens) {
    if (count == 0) continue;
    report(measure(backend, fmt::format("tg{} of {} texts", count, flags.texts),
                   static_cast<double>(count * flags.texts), flags.repetitions, [&] {
                     std::vector<SessionGroup::Next> next;
                     for (size_t i = 0; i < group.size(); ++i) {
                       group.session(i).begin(std::vector<int32_t>{0});
                       next.push_back({.session = i});
                     }
                     for (int64_t n = 0; n < count; ++n) group.append(next, false);
                   }));
  }
}

void bench_training(const BenchFlags& flags, Backend& backend, const Model& model,
                    const std::function<void(const Row&)>& report, ProfileReport& profile) {
  const TrainSettings settings{.products = float_type(flags.precision)};
  const BatchShape shape = causal_batch(model, flags.batch);
  const int64_t tokens = shape.rows * shape.positions;
  const auto ids = some_ids(tokens, model.vocabulary);
  const std::string size = fmt::format("B{} T{}", shape.rows, shape.positions);
  Trainer trainer(backend, model, settings, shape);
  initialize(trainer.store(), model.parameters, 1);
  report(measure(backend, "forward " + size, static_cast<double>(tokens), flags.repetitions,
                 [&] { trainer.evaluate(ids, ids); }));
  {
    TrainingGraph training = build_loss_and_gradients(model, shape, false, settings.precision(backend.facts()));
    const auto blocks = training_blocks(model, training.gradients, backend.facts().max_allocation);
    const Values joined = join_gradients(training, model, blocks);
    training.graph.mark_output(global_norm(training.graph, joined), "norm");  // keeps all gradients in the program
    StoreLayout layout;
    add_model(layout, model, blocks);
    auto store = backend.make_store(layout);
    write_constants(*store, model);
    initialize(*store, model.parameters, 1);
    auto program = backend.compile(std::move(training.graph), store);
    program->write("ids", ids);
    program->write("targets", ids);
    program->write("seed", std::vector<int32_t>{0, 0});
    program->write("loss_gradient", std::vector<float>{1});
    report(measure(backend, "forward+backward " + size, static_cast<double>(tokens), flags.repetitions,
                   [&] { program->run(); }));
  }
  int64_t iteration = 0;
  report(measure(backend, "train step " + size, static_cast<double>(tokens), flags.repetitions,
                 [&] { trainer.step(++iteration, ids, ids); }));
  for (const auto& [name, program] : trainer.programs()) profile.add("training: " + name, *program);
}

/// Of the parameters in the types they are stored in.
std::string parameter_bytes_text(const Model& model) {
  int64_t bytes = 0;
  for (const ParameterSpec& p : model.parameters) bytes += p.stored().bytes();
  return fmt::format("{:.2f} MiB", static_cast<double>(bytes) / (1 << 20));
}

}  // namespace

void bench_model(const BenchFlags& flags) {
  const Model model = model_or_shape(flags.model);
  std::string type = weights_text(flags.model, flags.dtype);
  check(model.generates() && !model.has_encoder(),
        "bench times models that go on with a text; this {} model does not (--profile times its steps in train, "
        "translate "
        "and others)",
        model.family);
  const auto none = [](const std::vector<int64_t>& counts) {
    return std::ranges::all_of(counts, [](int64_t n) { return n == 0; });
  };
  if ((!flags.dtype.empty() || !flags.cache_dtype.empty()) && none(flags.prompts) && none(flags.tokens))
    throw UsageError(
        "bench: --dtype and --cache-dtype are of weights and caches when generating, and -p 0 -n 0 generate nothing; "
        "training has --precision");
  auto backend = open_backend(flags.common);
  if (flags.batch > 0) backend->check_one_device("a training step (-b 0 leaves it out)");
  Model stored = model;
  store_weights_as(stored, flags.model, flags.dtype);
  std::string size = parameter_bytes_text(stored);
  const std::string parameters = fmt::format("{:.2f} M", static_cast<double>(model.parameter_count()) * 1e-6);
  const bool json = flags.output == "json";
  auto rows = nlohmann::json::array();
  bool headed = json;
  const auto report = [&](const Row& row) {
    if (!std::exchange(headed, true))
      print(
          "| {:<24} | {:>12} | {:>10} | {:<36} | {:>26} | {:>22} | {:>10} |\n| {:-<24} | {:->11}: | {:->9}: | {:-<36} "
          "| {:->25}: | {:->21}: | {:->9}: |\n",
          "model", "size", "params", "device", "test", "t/s", "best ms", "", "", "", "", "", "", "");
    if (json)
      rows.push_back({{"model", flags.model},
                      {"dtype", type},
                      {"parameters", model.parameter_count()},
                      {"device", backend->facts().name},
                      {"driver", backend->facts().driver},
                      {"test", row.test},
                      {"tokens_per_second", row.tokens_per_second},
                      {"deviation", row.deviation},
                      {"best_seconds", row.best_seconds}});
    else
      print("| {:<24} | {:>12} | {:>10} | {:<36} | {:>26} | {:>22} | {:>10.3f} |\n",
            fmt::format("{} {} {}", model.family, flags.model, type), size, parameters, backend->facts().name, row.test,
            fmt::format("{:.2f} ± {:.2f}", row.tokens_per_second, row.deviation), row.best_seconds * 1e3);
    check_output();
  };
  ProfileReport profile(*backend, flags.common);
  bench_generation(flags, *backend, stored, report, profile);
  size = parameter_bytes_text(model);
  type = flags.precision;
  if (flags.batch > 0) bench_training(flags, *backend, model, report, profile);
  profile.write();
  if (json) print("{}\n", rows.dump(1));
}

}  // namespace vkformer
