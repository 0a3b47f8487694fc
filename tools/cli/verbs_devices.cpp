// What the verbs that prove and measure devices can be asked for.

#include <algorithm>
#include <set>

#include "runtime/check.h"
#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

void add_devices(CLI::App& app) {
  auto json = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand("devices", "list the Vulkan devices");
  command->add_flag("--json", *json, "machine-readable output");
  command->callback([json] { print_devices(*json); });
}

void add_ops(CLI::App& app) {
  auto flags = std::make_shared<CommonFlags>();
  CLI::App* command = app.add_subcommand("ops", "list the ops and the kernels a device runs them with");
  command->add_option("-d,--device", flags->device, "device number or part of its name");
  command->callback([flags] { print_ops(*flags); });
}

/// Throws UsageError for what is given beside `mode` and is not of it.
void alone(const CLI::App& command, const std::string& mode, const std::set<std::string>& own) {
  if (command.get_option(mode)->count() == 0) return;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && option->get_name() != mode && !own.contains(option->get_name()))
      throw UsageError(fmt::format("{} runs nothing and takes no {}; leave one out", mode, option->get_name()));
}

void add_conform(CLI::App& app) {
  auto flags = std::make_shared<ConformFlags>();
  CLI::App* command = app.add_subcommand("conform", "compare every kernel with the CPU reference");
  add_facts_flag(*command, flags->common);
  add_segment_flag(*command, flags->common);
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("-o,--op", flags->options.op, "only this op");
  command->add_option("-p,--pattern", flags->options.pattern,
                      "only cases whose description matches this regular expression");
  command->add_option("--kernel", flags->options.kernel,
                      "only kernels whose name matches this regular expression; gradients run on those chosen first");
  command->add_flag("--grad", flags->options.gradients, "also check gradients: finite differences, and the device's");
  command->add_flag(
      "--all", flags->options.all,
      "on a software driver, every legal kernel, also those that were written for GPUs (on a GPU: always)");
  command->add_flag("--distinct", flags->options.distinct,
                    "only cases that need a pipeline which none before them needed: for checking with slow layers");
  command->add_option("--report", flags->report, "write all results to FILE, as a page (.html) or as JSON (.json)")
      ->type_name("FILE")
      ->check(result_file({".html", ".json"}));
  command->add_flag("--as-gpu", flags->as_gpu,
                    "choose and launch kernels as on a GPU, to prove that on a software driver");
  command->add_flag("-v,--verbose", flags->verbose, "one line a case");
  command
      ->add_option(
          "--kit", flags->kit,
          "write the first case that fails (made smaller as long as it fails), or the first one, into a new folder "
          "as SPIR-V, data and a C++ program that need nothing else: for a driver's makers")
      ->type_name("FOLDER");
  command
      ->add_option("--compare", flags->compared,
                   "run nothing: show what differs between two JSON reports, as before and after a driver's update")
      ->type_name("A.json B.json")
      ->expected(2);
  command->add_option("--matrix", flags->matrix, "run nothing: show which kernels these reports prove on which drivers")
      ->type_name("FILE");
  CLI::Option* matrix = command->get_option("--matrix");
  command
      ->add_option("--single", flags->single,
                   "kernels (regular expression on KERNEL/VARIANT) that --matrix wants on one driver only")
      ->needs(matrix);
  command->add_option("--elsewhere", flags->elsewhere, "kernels that --matrix wants on none: proved by other runs")
      ->needs(matrix);
  command->callback([flags, command] {
    alone(*command, "--compare", {});
    alone(*command, "--matrix", {"--single", "--elsewhere"});
    if (!flags->compared.empty()) return compare_reports(flags->compared[0], flags->compared[1]);
    flags->matrix.empty() ? conform(*flags) : print_proof_matrix(flags->matrix, flags->single, flags->elsewhere);
  });
}

void add_verify(CLI::App& app) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command = app.add_subcommand(
      "verify",
      "compare models and single ops with recorded outputs of another implementation; other models with the "
      "reference");
  add_facts_flag(*command, flags->common);
  add_segment_flag(*command, flags->common);
  command->add_option("-d,--device", flags->common.device, "device number or part of its name, or 'reference'");
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "only failures and the total");
  command
      ->add_option("cases", flags->folders,
                   "case folders (format: tests/fixtures/README.md), model folders, .gguf files")
      ->required();
  command->callback([flags] { verify(*flags); });
}

void add_precision(CLI::App& command, std::string& precision) {
  command.add_option("--precision", precision, "of the training step, as train --precision")
      ->transform(type_name())
      ->check(CLI::IsMember(precisions()))
      ->capture_default_str();
}

/// Programs of several rows, beside those of a text alone.
void add_rows(CLI::App& command, int64_t& texts, int64_t& draft_tokens) {
  command
      .add_option("--texts", texts, "also so many texts, a token of each in one run, as 'serve --slots' writes them")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--draft-tokens", draft_tokens,
                  "also runs that check up to so many guesses, as 'generate --draft-tokens' has them; 0: none")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
}

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand(
      "bench", "time a model (prompt, generation, training), with --op one op, with --roof the device");
  add_tuning_flag(*command, flags->common);
  add_facts_flag(*command, flags->common);
  add_memory_flags(*command, flags->common);
  add_segment_flag(*command, flags->common);
  add_device_flags(*command, flags->common);
  add_profile_flag(*command, flags->common);
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command
      ->add_option("-m,--model", flags->model,
                   "model folder, config.json, .gguf, or a GPT-2 shape LAYERSxWIDTHxHEADS[:VOCABULARY[:CONTEXT]]; "
                   "weights are random")
      ->capture_default_str();
  command->add_option("-p,--prompt", flags->prompts, "prompt lengths to time; 0: none")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("-n,--tokens", flags->tokens, "numbers of generated tokens to time; 0: none")
      ->check(not_negative())
      ->capture_default_str();
  add_rows(*command, flags->texts, flags->draft_tokens);
  command->add_flag(
      "!--no-run-ahead", flags->run_ahead,
      "the device begins no token before the host has chosen the one before it: what that takes longer is "
      "the host's part of a token");
  command->add_option("-b,--batch", flags->batch, "sequences of a training step; 0: no training")
      ->check(not_negative())
      ->capture_default_str();
  add_weight_dtype(*command, flags->dtype,
                   "type of the weights when generating (default: f32; of a .gguf's or a quantised folder's weights "
                   "the files' own)");
  add_cache_dtype(*command, flags->cache_dtype);
  add_precision(*command, flags->precision);
  command->add_option("-r,--repetitions", flags->repetitions, "timed runs")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "md or json")
      ->check(CLI::IsMember({"md", "json"}))
      ->capture_default_str();
  command->add_flag("--json", flags->common.json, "the same as -o json")->excludes(command->get_option("--output"));
  CLI::Option* op = command->add_option("--op", flags->op, "time this op instead of a model");
  command
      ->add_option("--input", flags->inputs,
                   "with --op: shape of an input, e.g. 8x256x64, 8x256x64:bf16, 12x64:i32:0:64 or '-' (absent)")
      ->needs(op);
  command->add_option("--attr", flags->attributes, "with --op: an attribute, name=number (a wrong name lists them)")
      ->needs(op);
  command
      ->add_option(
          "--candidate", flags->candidate,
          "with --op: only this kernel; first: what is chosen unmeasured; all: every legal one (default: those "
          "that were written for this kind of device)")
      ->needs(op);
  CLI::Option* roof = command->add_flag(
      "--roof", flags->roof, "measure what the device can do at most, and keep it: profiles then show shares of it");
  roof->excludes(op);
  for (const char* output : {"--output", "--json"}) op->excludes(command->get_option(output));
  for (const char* of_models : {"--model", "--prompt", "--tokens", "--texts", "--draft-tokens", "--no-run-ahead",
                                "--batch", "--dtype", "--cache-dtype", "--precision", "--profile"}) {
    op->excludes(command->get_option(of_models));
    roof->excludes(command->get_option(of_models));
  }
  command->callback([flags] {
    if (flags->common.json) flags->output = "json";
    if (flags->roof) return bench_roof(*flags);
    const auto none = [](const auto& sizes) { return std::ranges::all_of(sizes, [](auto size) { return size == 0; }); };
    if (flags->op.empty() && none(flags->prompts) && none(flags->tokens) && flags->draft_tokens + flags->batch == 0)
      throw UsageError("nothing to time: --prompt, --tokens, --draft-tokens and --batch are 0");
    flags->op.empty() ? bench_model(*flags) : bench_op(*flags);
  });
}

void add_tune(CLI::App& app) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = app.add_subcommand(
      "tune", "measure every kernel that can run a node of a model, and keep the fastest for all later runs");
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  add_tuning_flag(*command, flags->common);
  add_facts_flag(*command, flags->common);
  add_memory_flags(*command, flags->common);
  add_segment_flag(*command, flags->common);
  command
      ->add_option("model", flags->model,
                   "model folder, config.json, .gguf, or a GPT-2 shape LAYERSxWIDTHxHEADS[:VOCABULARY[:CONTEXT]]")
      ->capture_default_str();
  command->add_option("-p,--prompt", flags->prompts, "prompt lengths to tune for (default: 64, or the context)")
      ->check(positive());
  add_rows(*command, flags->texts, flags->draft_tokens);
  command->add_option("-b,--batch", flags->batch, "sequences of a training step; 0: no training")
      ->check(not_negative())
      ->capture_default_str();
  add_weight_dtype(*command, flags->dtype, "as for bench");
  add_cache_dtype(*command, flags->cache_dtype);
  add_precision(*command, flags->precision);
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 31);
  command->add_option("--context", flags->context, "positions (default: the model's)")->check(positive);
  command->add_option("--accumulate", flags->accumulate, "micro-batches of an iteration")
      ->check(positive)
      ->capture_default_str();
  command->callback([flags] { tune(*flags); });
}

/// Bounds on what the kernels that models choose may take; without models on all.
void add_budget(CLI::App& command, PipelineBudget& budget) {
  const auto add = [&](const char* name, std::optional<double>& bound, const char* what) {
    command.add_option(name, bound, what)
        ->check(finite_number())
        ->check(not_negative())
        ->type_name("N")
        ->group("Budget");
  };
  add("--max-registers", budget.registers,
      "fail, a line each, where a pipeline that models choose takes more registers");
  add("--max-spills", budget.spills, "the same for registers that went to memory");
  add("--max-scratch", budget.scratch, "for bytes of memory that stand for registers");
  add("--max-shared", budget.shared, "for bytes of shared memory");
  add("--max-code", budget.code, "for bytes of code");
  add("--min-resident", budget.resident, "where fewer subgroups stay resident at once (occupancy)");
}

void add_pipelines(CLI::App& app) {
  auto flags = std::make_shared<PipelinesFlags>();
  CLI::App* command = app.add_subcommand(
      "pipelines",
      "dispatches and barriers of a model's programs; what the driver's compiler makes of the kernels (registers, "
      "spills, occupancy); runs nothing");
  add_tuning_flag(*command, flags->common);
  add_facts_flag(*command, flags->common);
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("models", flags->models,
                      "models whose kernels to compile: folder, config.json, .gguf, or a GPT-2 shape as for bench");
  command->add_option("--dtype", flags->dtypes, "as for bench; each model in each of them")
      ->transform(type_name())
      ->check(CLI::IsMember(weight_types()));
  command
      ->add_option("--precision", flags->precisions, "of the training step, as train --precision; each model in each")
      ->transform(type_name())
      ->check(CLI::IsMember(precisions()))
      ->capture_default_str();
  command->add_option("-b,--batch", flags->batch, "sequences of a training step; 0: no training")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("-p,--prompt", flags->prompts, "prompt lengths (default: 64, or the context)")->check(positive());
  add_rows(*command, flags->texts, flags->draft_tokens);
  command->add_option("--context", flags->context, "positions (default: the model's)")->check(positive());
  command->add_flag("--all", flags->all,
                    "also every legal kernel in the cases of `conform --grad` (default without models)");
  command->add_flag("--as-gpu", flags->as_gpu,
                    "choose kernels as on a GPU: how many dispatches and barriers a run has there");
  command
      ->add_option(
          "--spirv", flags->modules,
          "SPIR-V modules of your own to compile as well: entry \"main\", constants as they are, at most 128 bytes "
          "of push constants, no descriptors")
      ->type_name("FILE");
  command->add_flag("-v,--verbose", flags->verbose, "every statistic of every pipeline, under the driver's own names");
  command->add_flag("--json", flags->common.json, "machine-readable output: all that the driver says");
  command->add_option("--report", flags->report, "write the same JSON to FILE")
      ->type_name("FILE")
      ->check(result_file({".json"}));
  add_budget(*command, flags->budget);
  CLI::Option* judge = command
                           ->add_option("--judge", flags->judged,
                                        "compile nothing: compare these reports, and fail "
                                        "where a pipeline failed, was slow, or a chosen one spilled")
                           ->type_name("FILE");
  command
      ->add_option("--allowed", flags->allowed,
                   "with --judge: JSON file with the number of other pipelines that may spill")
      ->type_name("FILE")
      ->needs(judge);
  command->add_option("--slow", flags->slow, "with --judge: seconds of a core that a pipeline may take")
      ->needs(judge)
      ->check(not_negative())
      ->capture_default_str();
  for (const char* compiles :
       {"models", "--dtype", "--precision", "--batch", "--prompt", "--texts", "--draft-tokens", "--context", "--all",
        "--as-gpu", "--spirv", "--report", "--facts", "--device", "--tuning"})
    judge->excludes(command->get_option(compiles));
  command->callback([flags] { flags->judged.empty() ? pipelines(*flags) : judge_pipelines(*flags); });
}

void add_profile(CLI::App& app) {
  auto flags = std::make_shared<ProfileFlags>();
  CLI::App* command = app.add_subcommand(
      "profile", "compare two profiles (--profile FILE.json of train, generate, ...), kernel by kernel");
  command
      ->add_option(
          "--compare", flags->compared,
          "before and after; each may be several profiles of the same, A1.json,A2.json, of which the best times "
          "count and the noise is known better")
      ->type_name("A.json B.json")
      ->expected(2)
      ->required();
  command->add_flag("--json", flags->json, "machine-readable output");
  command->callback([flags] { compare_profiles(*flags); });
}

}  // namespace

void add_device_verbs(CLI::App& app) {
  add_devices(app);
  add_ops(app);
  add_conform(app);
  add_verify(app);
  add_bench(app);
  add_tune(app);
  add_pipelines(app);
  add_profile(app);
}

}  // namespace vkformer
