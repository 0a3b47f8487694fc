// The command `vkformer <verb>`. Exit status: 0 done, 1 failed, 2 wrong usage.

#include <CLI/CLI.hpp>

#include "tools/cli/commands.h"

namespace vkformer {

namespace {

void add_common_flags(CLI::App& command, CommonFlags& flags) {
  command.add_option("-d,--device", flags.device,
                     "device number or part of its name (see 'vkformer devices'), or 'reference' for the CPU");
  command
      .add_option("--profile", flags.profile,
                  "time every dispatch: table on screen, Chrome trace JSON (Perfetto) into FILE")
      ->type_name("FILE");
  command.add_flag("--json", flags.json, "machine-readable output");
  command.add_flag("-q,--quiet", flags.quiet, "results only");
}

void add_tuning_flag(CLI::App& command, CommonFlags& flags) {
  flags.tuning.clear();
  command
      .add_option(
          "--tuning", flags.tuning,
          "measured choices of kernels (see 'vkformer tune'; default: this device's own); none: heuristics only")
      ->type_name("FILE");
}

void add_dtype(CLI::App& command, std::string& dtype, const char* help) {
  command.add_option("--dtype", dtype, help)->check(CLI::IsMember({"f32", "f16", "bf16"}))->capture_default_str();
}

void add_tune_flags(CLI::App& command, CommonFlags& flags) {
  add_tuning_flag(command, flags);
  command.add_flag("--tune", flags.tune,
                   "first measure kernels for nodes that were never measured here, and keep that");
}

void add_train(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  TrainSettings& s = flags->settings;
  CLI::App* command = app.add_subcommand("train", "train a language model on a text file");
  add_common_flags(*command, flags->common);
  add_tune_flags(*command, flags->common);
  command->add_option("config", flags->config,
                      "the model: a Hugging Face config.json (vocab_size comes from the text)");
  command->add_option("--data", flags->data, "text file")->type_name("FILE");
  command->add_option("--out", flags->out, "run folder: checkpoints, metrics.jsonl, loss.svg")->type_name("RUN");
  command->add_flag("--resume", flags->resume, "continue the run in --out with its own settings, except those given");
  command->add_flag("--plan", flags->plan, "print the memory plan and stop, allocating nothing (needs no --data)");
  command->add_flag("--bytes", flags->bytes, "tokens are bytes, not characters");
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 31);
  command->add_option("--iterations", s.iterations, "optimiser steps")->check(positive)->capture_default_str();
  command->add_option("--batch", flags->batch, "sequences of a micro-batch")->check(positive)->capture_default_str();
  command->add_option("--context", flags->context, "positions of a sequence (default: the model's)")->check(positive);
  command->add_option("--accumulate", s.accumulate, "micro-batches of an iteration")
      ->check(positive)
      ->capture_default_str();
  command->add_option("--learning-rate", s.learning_rate, "peak learning rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--min-learning-rate", s.min_learning_rate, "at the end of the cosine")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--warmup", s.warmup, "iterations of linear warm-up")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--beta1", s.beta1, "AdamW")->check(CLI::Range(0.0, 0.9999999))->capture_default_str();
  command->add_option("--beta2", s.beta2, "AdamW")->check(CLI::Range(0.0, 0.9999999))->capture_default_str();
  command->add_option("--weight-decay", s.weight_decay, "of tensors with two or more dimensions")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--clip", s.clip, "largest gradient norm, 0: off")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_flag("--checkpoint-activations", s.checkpoint_activations,
                    "compute activations inside layers again for the backward pass: less memory, more time, same bits");
  add_dtype(*command, flags->dtype,
            "f16, bf16: operands of matrix products are rounded to it (mixed precision); all else stays f32");
  command->add_option("--dropout", flags->dropout, "instead of the config's")->check(CLI::Range(0.0, 0.99));
  command->add_option("--seed", s.seed, "of initialisation, batches and dropout")->capture_default_str();
  command->add_option("--validation-fraction", flags->validation_fraction, "end of the text that is not trained on")
      ->check(CLI::Range(0.0, 0.9))
      ->capture_default_str();
  command->add_option("--evaluate-every", flags->evaluate_every, "iterations")->check(positive)->capture_default_str();
  command
      ->add_option("--evaluation-batches", flags->evaluation_batches,
                   "batches of an evaluation (the last one uses the whole split)")
      ->check(positive)
      ->capture_default_str();
  command->add_option("--checkpoint-every", flags->checkpoint_every, "iterations")
      ->check(positive)
      ->capture_default_str();
  command->callback([flags, command] {
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) flags->given.insert(option->get_name());
    train(*flags);
  });
}

void add_generate(CLI::App& app) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app.add_subcommand("generate", "write text with a trained model");
  add_common_flags(*command, flags->common);
  add_tune_flags(*command, flags->common);
  command->add_option("model", flags->model, "model folder or run folder")->required();
  CLI::Option* prompt = command->add_option("-p,--prompt", flags->prompt,
                                            "the text to continue, or for an encoder-decoder the source text");
  add_dtype(*command, flags->dtype, "of the weights in the device's memory");
  command->add_option("-n,--tokens", flags->tokens, "tokens to write")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->capture_default_str();
  command->add_option("--temp", flags->sampling.temperature, "temperature; 0: always the likeliest token")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--top-k", flags->sampling.top_k, "only the k likeliest tokens; 0: off")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--top-p", flags->sampling.top_p, "only the likeliest tokens that together reach this probability")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "of the draws (default: a new one, printed)")
      ->check(CLI::Range(int64_t{0}, int64_t{0xffffffff}));
  command
      ->add_option("--ids", flags->ids,
                   "token ids like 5,17,3 instead of text (an encoder's source, or a prompt); again for a batch; "
                   "searches as generation_config.json says; --temp, --top-k, --top-p or --seed draw")
      ->excludes(prompt);
  command->add_option("--beams", flags->beams, "with --ids or an encoder: beams of each source")
      ->check(CLI::Range(1, 1024));
  command->add_option("--return", flags->returned, "with --ids or an encoder: hypotheses of each source to print")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--length-penalty", flags->length_penalty,
                   "with --beams: a score is its log-probability / length ^ this")
      ->check(CLI::Range(-100.0, 100.0));
  command->add_flag("--early-stopping", flags->early_stopping, "with --beams: end with the first hypotheses");
  command->callback([flags, command] {
    for (const CLI::Option* option : command->get_options())
      if (option->count() > 0) flags->given.insert(option->get_name());
    if (flags->ids.empty() && !flags->given.contains("--prompt"))
      throw UsageError("generate needs -p TEXT or --ids IDS");
    flags->ids.empty() ? generate(*flags) : generate_ids(*flags);
  });
}

void add_conform(CLI::App& app) {
  auto flags = std::make_shared<ConformFlags>();
  CLI::App* command = app.add_subcommand("conform", "compare every kernel with the CPU reference");
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("-o,--op", flags->options.op, "only this op");
  command->add_option("-p,--pattern", flags->options.pattern,
                      "only cases whose description matches this regular expression");
  command->add_flag("--grad", flags->options.gradients, "also check gradients: finite differences, and the device's");
  command->add_flag("--all", flags->options.all,
                    "every legal kernel, also those that were written for another kind of device");
  command->add_flag("--distinct", flags->options.distinct,
                    "only cases that need a pipeline which none before them needed: for checking with slow layers");
  command->add_option("--report", flags->report, "write all results to FILE as JSON")->type_name("FILE");
  command->add_option("--segment-seconds", flags->segment_seconds,
                      "estimated device time of one submission; tiny values split every dispatch");
  command->add_flag("--as-gpu", flags->as_gpu,
                    "choose and launch kernels as on a GPU, to prove that on a software driver");
  command->add_flag("-v,--verbose", flags->verbose, "one line a case");
  command->add_option("--matrix", flags->matrix, "run nothing: show which kernels these reports prove on which drivers")
      ->type_name("FILE");
  command->add_option("--single", flags->single, "kernels that --matrix wants proved on one driver only")
      ->type_name("KERNEL");
  command->callback(
      [flags] { flags->matrix.empty() ? conform(*flags) : print_proof_matrix(flags->matrix, flags->single); });
}

void add_verify(CLI::App& app) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App* command =
      app.add_subcommand("verify", "compare models and single ops with recorded outputs of another implementation");
  command->add_option("-d,--device", flags->common.device, "device number or part of its name, or 'reference'");
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "only failures and the total");
  command->add_option("cases", flags->folders, "case folders; format: tests/fixtures/README.md")->required();
  command->callback([flags] { verify(*flags); });
}

void add_info(CLI::App& app) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* command =
      app.add_subcommand("info", "say what a model is, whether it runs here, and what memory that takes");
  add_tuning_flag(*command, flags->common);
  command->add_option("-d,--device", flags->common.device, "device number or part of its name, or 'reference'");
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("model", flags->model, "model folder, run folder or config.json")->required();
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 31);
  command->add_option("--batch", flags->batch, "sequences of a training step")->check(positive)->capture_default_str();
  command->add_option("--context", flags->context, "positions (default: the model's)")->check(positive);
  command->callback([flags] { info(*flags); });
}

void add_logits_verb(CLI::App& app) {
  auto flags = std::make_shared<LogitsFlags>();
  CLI::App* command = app.add_subcommand("logits", "write a model's logits of given ids to a file");
  add_tuning_flag(*command, flags->common);
  command->add_option("-d,--device", flags->common.device, "device number or part of its name, or 'reference'");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("model", flags->model, "model folder or run folder")->required();
  command
      ->add_option("--ids", flags->ids,
                   "safetensors file: input_ids, attention_mask, token_type_ids, decoder_input_ids [batch, positions]")
      ->required()
      ->type_name("FILE");
  command->add_option("--out", flags->out, "safetensors file to write: the same and logits")
      ->required()
      ->type_name("FILE");
  command->callback([flags] { logits(*flags); });
}

void add_convert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command =
      app.add_subcommand("convert", "write a model (sharded, f16 or bf16 too) as one folder with f32 weights");
  command->add_flag("-q,--quiet", flags->quiet, "results only");
  command->add_option("model", flags->model, "model folder or run folder")->required();
  command->add_option("out", flags->out, "new folder")->required();
  command->callback([flags] { convert(*flags); });
}

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

void add_bench(CLI::App& app) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand(
      "bench", "time a model (prompt, generation, training), with --op one op, with --roof the device");
  add_tuning_flag(*command, flags->common);
  command->add_option("-d,--device", flags->common.device, "device number or part of its name");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command
      ->add_option(
          "-m,--model", flags->model,
          "model folder, config.json, or a GPT-2 shape LAYERSxWIDTHxHEADS[:VOCABULARY[:CONTEXT]]; weights are random")
      ->capture_default_str();
  command->add_option("-p,--prompt", flags->prompts, "prompt lengths to time; 0: none")->capture_default_str();
  command->add_option("-n,--tokens", flags->tokens, "numbers of generated tokens to time; 0: none")
      ->capture_default_str();
  command->add_option("-b,--batch", flags->batch, "sequences of a training step; 0: no training")
      ->capture_default_str();
  add_dtype(*command, flags->dtype, "of the weights when generating, of the products' operands when training");
  command->add_option("-r,--repetitions", flags->repetitions, "timed runs")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("-o,--output", flags->output, "md or json")
      ->check(CLI::IsMember({"md", "json"}))
      ->capture_default_str();
  command->add_option("--op", flags->op, "time this op instead of a model");
  command->add_option("--input", flags->inputs,
                      "with --op: shape of an input, e.g. 8x256x64, 8x256x64:bf16, 12x64:i32:0:64 or '-' (absent)");
  command->add_option("--attr", flags->attributes, "with --op: an attribute, name=number");
  command->add_option("--candidate", flags->candidate,
                      "with --op: only this kernel, or first: what is chosen unmeasured (default: all that are legal)");
  command->add_flag("--roof", flags->roof,
                    "measure what the device can do at most, and keep it: profiles then show shares of it");
  command->callback([flags] {
    if (flags->roof) return bench_roof(*flags);
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
  command
      ->add_option("model", flags->model,
                   "model folder, config.json, or a GPT-2 shape LAYERSxWIDTHxHEADS[:VOCABULARY[:CONTEXT]]")
      ->capture_default_str();
  command->add_option("-p,--prompt", flags->prompts, "prompt lengths to tune for")->capture_default_str();
  command->add_option("-b,--batch", flags->batch, "sequences of a training step; 0: no training")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  add_dtype(*command, flags->dtype, "as for generate and train");
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 31);
  command->add_option("--context", flags->context, "positions (default: the model's)")->check(positive);
  command->add_option("--accumulate", flags->accumulate, "micro-batches of an iteration")
      ->check(positive)
      ->capture_default_str();
  command->callback([flags] { tune(*flags); });
}

}  // namespace

}  // namespace vkformer

int main(int argc, char** argv) {
  CLI::App app{"vkformer: Transformers on any Vulkan device, from recorded command buffers"};
  app.set_version_flag("--version", "vkformer " VKFORMER_VERSION);
  app.require_subcommand(1);
  vkformer::add_train(app);
  vkformer::add_generate(app);
  vkformer::add_devices(app);
  vkformer::add_ops(app);
  vkformer::add_conform(app);
  vkformer::add_bench(app);
  vkformer::add_tune(app);
  vkformer::add_verify(app);
  vkformer::add_info(app);
  vkformer::add_logits_verb(app);
  vkformer::add_convert(app);
  try {
    const auto verbs = app.get_subcommands(nullptr);
    if (argc > 1 && argv[1][0] != '-' &&
        std::none_of(verbs.begin(), verbs.end(), [&](const CLI::App* verb) { return verb->check_name(argv[1]); }))
      throw vkformer::UsageError(fmt::format("there is no verb '{}'; see 'vkformer --help'", argv[1]));
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    fmt::print(stderr, "vkformer: {}; see 'vkformer --help'\n", error.what());
    return 2;
  } catch (const vkformer::UsageError& error) {
    fmt::print(stderr, "vkformer: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "vkformer: {}\n", error.what());
    return 1;
  }
  return 0;
}
