// What the verbs that work with one model can be asked for.

#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

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
  CLI::App* command = app.add_subcommand(
      "generate",
      "write text with a trained model: as the flags say, else its generation_config.json; --temp, --top-k, "
      "--top-p or --seed draw, and so does text without such a file");
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
                   "token ids like 5,17,3 instead of text (an encoder's source, or a prompt); again for a batch")
      ->excludes(prompt);
  command->add_option("--beams", flags->beams, "beams of each source")->check(CLI::Range(1, 1024));
  command->add_option("--return", flags->returned, "with --beams: hypotheses of each source to print")
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

void add_convert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command =
      app.add_subcommand("convert", "write a model (sharded, f16 or bf16 too) as one folder with f32 weights");
  command->add_flag("-q,--quiet", flags->quiet, "results only");
  command->add_option("model", flags->model, "model folder or run folder")->required();
  command->add_option("out", flags->out, "new folder")->required();
  command->callback([flags] { convert(*flags); });
}

}  // namespace

void add_model_verbs(CLI::App& app) {
  add_train(app);
  add_generate(app);
  add_logits_verb(app);
  add_info(app);
  add_convert(app);
}

}  // namespace vkformer
