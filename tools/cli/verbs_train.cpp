// What `train` can be asked for.

#include "tools/cli/help_text.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

/// The files of each kind.
void add_files(CLI::App& command, std::map<std::string, std::vector<std::string>>& files) {
  for (const JobKind& kind : job_kinds())
    command
        .add_option_function<std::vector<std::string>>(
            kind.option, [&files, &kind](const auto& given) { files[kind.option] = given; }, kind.help)
        ->expected(kind.one_role.empty() ? static_cast<int>(kind.roles.size()) : 1, static_cast<int>(kind.roles.size()))
        ->allow_extra_args(kind.roles.size() > 1)
        ->type_name(kind.type_name);
}

}  // namespace

void add_evaluate_verb(CLI::App& app) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* command = app.add_subcommand(
      "evaluate",
      "say how well a model does its job on files that it was not trained on\n: its loss on all of them and, by their "
      "kind, BLEU and chrF, accuracy and F1, F1 of entities, exact match, word errors");
  add_common_flags(*command, flags->common, false);
  command->add_option("model", flags->model, "run folder, RUN/best, model folder or adapter")->required();
  command->add_option("--from", flags->from, "an adapter's model, where it is not the folder that the adapter names")
      ->type_name("FOLDER");
  command
      ->add_option("--reference", flags->reference,
                   "of preferences: the model that the training began with (default: an adapter's model)")
      ->type_name("FOLDER");
  add_files(*command, flags->files);
  for (const JobKind& kind : job_kinds()) put_below(*command, "Files, of one kind", {kind.option});
  add_weight_dtype(*command, flags->dtype, "of the weights in the device's memory");
  command->add_option("--context", flags->context, "positions of a sequence (default: the run's, or the model's)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->add_option("--batch-tokens", flags->batch_tokens, "positions of a batch (default: the run's)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->callback([flags, command] {
    remember_given(*command, flags->given);
    evaluate_model(*flags);
  });
}

void add_train_verb(CLI::App& app) {
  auto flags = std::make_shared<TrainFlags>();
  TrainSettings& s = flags->settings;
  CLI::App* command = app.add_subcommand(
      "train",
      "train, fine-tune or adapt a model on plain files\n: a language model on a text, a translator on two, a "
      "classifier "
      "on rows, a tagger of words, or what finds answers in texts; or pre-train an encoder, XLNet or "
      "T5 on a text");
  add_common_flags(*command, flags->common, false);
  add_tune_flag(*command, flags->common);
  command->add_option("config", flags->config,
                      "the model: a Hugging Face config.json (vocab_size comes from the text)");
  command
      ->add_option("--set", flags->changes,
                   "a key of a new model's config and its value, JSON or a word, like n_layer=6; may be given again")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--from", flags->from,
          "instead of a config: a model folder or run folder whose weights, config and tokenizer it starts from")
      ->type_name("FOLDER");
  command
      ->add_option("--lora", flags->lora,
                   "with --from: train low-rank products beside frozen weights, as r=8,alpha=16,dropout=0.05,"
                   "targets=q_proj+v_proj (or all-linear),rslora; r=8 alone does")
      ->type_name("SETTINGS");
  command->add_option("--weights", flags->weights, "of frozen weights in the device's memory (default: as the files)")
      ->transform(type_name())
      ->check(CLI::IsMember(weight_types()));
  add_files(*command, flags->files);
  command
      ->add_option("--valid", flags->valid,
                   "files of the same kind, not trained on (running text without them: see --validation-fraction)")
      ->expected(1, 2)
      ->type_name("FILE");
  command
      ->add_option(
          "--tokenizer", flags->tokenizer,
          "folder with a tokenizer.json (default: with --data characters, with --labels, --tags, --answers and "
          "--similar none, else one is made)")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--tokenizer-kind,--kind", flags->tokenizer_kind,
          "of one that is made: pieces by merges or by likelihood (byte-bpe: by the verb tokens, for --tokenizer)")
      ->check(CLI::IsMember({"bpe", "unigram"}))
      ->capture_default_str();
  command->add_flag("--apart", flags->apart,
                    "the sides of pairs get vocabularies of their own (the original Transformer, Marian)");
  command
      ->add_option("--target-tokenizer", flags->target_tokenizer,
                   "of pairs: the targets' folder, beside the sources' --tokenizer")
      ->type_name("FOLDER");
  command
      ->add_option(
          "--source-lang", flags->source_language,
          "language of the first side of pairs, for a tokenizer of many (NLLB, M2M-100, mBART): fra_Latn, or fr")
      ->type_name("LANG");
  command->add_option("--target-lang", flags->target_language, "language of the second side")->type_name("LANG");
  command
      ->add_option("--vocabulary,--size", flags->vocabulary,
                   "tokens of one that is made (of pairs: for both sides, or with --apart for each)")
      ->check(CLI::Range(int64_t{16}, int64_t{1} << 20))
      ->capture_default_str();
  command->add_option("--out", flags->out, "run folder: checkpoints, metrics.jsonl, loss.svg, run.html")
      ->type_name("RUN");
  command->add_flag("--resume", flags->resume, "continue the run in --out with its own settings, except those given");
  command->add_flag("--plan", flags->plan, "print the memory plan and stop, allocating nothing (needs no --data)");
  command->add_flag("--bytes", flags->bytes, "tokens are bytes, not characters")->excludes("--tokenizer");
  const auto some = CLI::Range(int64_t{1}, int64_t{1} << 31);
  CLI::Option* iterations = command->add_option("--iterations,--max-iters,--steps", s.iterations, "optimiser steps")
                                ->check(some)
                                ->capture_default_str();
  command->add_option("--epochs,--num-epochs", flags->epochs, "as many iterations as see all data so often")
      ->check(some)
      ->excludes(iterations);
  command->add_option("--minutes", flags->minutes, "end after this time, wherever the schedule is")->check(positive());
  command
      ->add_option(
          "--batch,--batch-size", flags->batch,
          "sequences of a micro-batch of text (12), or at most of lines that are masked (no limit) or texts with "
          "labels, tags or answers (32)")
      ->check(some);
  command
      ->add_option("--batch-tokens", flags->batch_tokens,
                   "positions of a micro-batch of pairs, on the longer side, or of other texts that are not windows")
      ->check(some)
      ->capture_default_str();
  command
      ->add_option(
          "--context,--block-size", flags->context,
          "most positions of a sequence (default: the model's); a new model gets so many where its config has fewer")
      ->check(some);
  command->add_option("--mask-share", flags->mask_share, "chance of a word to be masked, with --masked")
      ->check(between(0.001, 1.0))
      ->capture_default_str();
  add_stride(*command, flags->stride);
  command->add_flag("--skip-long", flags->skip_long, "leave out pairs with an empty line, or one too long");
  command->add_option("--accumulate,--gradient-accumulation-steps", s.accumulate, "micro-batches of an iteration")
      ->check(some)
      ->capture_default_str();
  command
      ->add_option("--gradient-parts", s.gradient_parts,
                   "add an iteration's gradients up as so many processes (mpirun) would, which then come to the same "
                   "bits: 1, 2, 4, 8, .. (default: the processes of a new run)")
      ->check(some);
  command
      ->add_option("--learning-rate,--lr", s.learning_rate,
                   fmt::format("peak learning rate (default: {:g}; --from: {:g}, --lora: {:g})", s.learning_rate,
                               fine_tuning_rate, lora_rate))
      ->check(positive());
  command
      ->add_option("--schedule", flags->schedule,
                   "of the learning rate; noam's peak is --learning-rate (there 1 unless given) / sqrt(width * warmup)")
      ->check(CLI::IsMember({"cosine", "linear", "inverse-sqrt", "noam", "constant"}))
      ->capture_default_str();
  command
      ->add_option("--label-smoothing", flags->label_smoothing,
                   "of the training loss: this share of a target goes to all tokens alike (default: the config's); of "
                   "preferences the chance that a label is wrong (default: 0)")
      ->check(between(0.0, 0.99));
  command
      ->add_option("--min-learning-rate,--min-lr", s.min_learning_rate,
                   "at the end of a cosine or line (default: a tenth of the peak)")
      ->check(not_negative());
  command->add_option("--warmup,--warmup-iters", s.warmup, "iterations of linear warm-up")
      ->check(not_negative())
      ->capture_default_str();
  command->add_option("--beta1", s.beta1, "AdamW")->check(between(0.0, 0.9999999))->capture_default_str();
  command->add_option("--beta2", s.beta2, "AdamW")->check(between(0.0, 0.9999999))->capture_default_str();
  command->add_option("--weight-decay", s.weight_decay, "of tensors with two or more dimensions")
      ->check(not_negative())
      ->capture_default_str();
  command
      ->add_option("--beta", flags->beta,
                   "of preferences: how much a text's log-likelihood beside that of the model it began as counts; the "
                   "larger, the nearer they stay")
      ->check(between(1e-6, 1e6))
      ->capture_default_str();
  command
      ->add_option(
          "--preference-loss", flags->preference_loss,
          "of preferences: DPO, or by log-likelihoods a token IPO or SimPO, which needs no model to compare with")
      ->check(CLI::IsMember({"dpo", "ipo", "simpo"}))
      ->capture_default_str();
  command
      ->add_option("--preference-margin", flags->preference_margin,
                   "of SimPO: what the preferred text's reward is to be more (gamma; its --beta is 2 unless given)")
      ->check(between(0, 1e3))
      ->capture_default_str();
  command
      ->add_option("--similarity-scale", flags->similarity_scale,
                   "of similar texts: what cosines are multiplied by, 1 / temperature")
      ->check(between(1e-3, 1e3))
      ->capture_default_str();
  command
      ->add_option(
          "--label-kind", flags->label_kind,
          "what --labels are: one of some classes, several (of lists), a number (regression), or relevance, from 0 "
          "to 1, of a pair of texts (rerankers) (default: as they look, or as the model of --from has it)")
      ->check(CLI::IsMember({"one", "several", "number", "relevance"}));
  command
      ->add_option(
          "--pooling", flags->pooling,
          "of similar texts: which states make a text's vector, where no files of the model say it (default: the "
          "mean, of a decoder the last)")
      ->check(CLI::IsMember({"mean", "first", "last"}));
  command->add_option("--clip,--grad-clip", s.clip, "largest gradient norm, 0: off")
      ->check(not_negative())
      ->capture_default_str();
  command->add_flag("--checkpoint-activations", s.checkpoint_activations,
                    "compute activations inside layers again for the backward pass: less memory, more time, same bits");
  command->add_flag("--offload-optimizer", s.offload_optimizer,
                    "keep AdamW's moments in host memory, which each update reads and writes over the bus: same bits");
  command
      ->add_option(
          "--precision,--dtype", flags->dtype,
          "of the computation; with f16 and bf16 operands of matrix products are rounded to it, on GPUs values "
          "between ops, too (mixed precision), while parameters stay f32")
      ->transform(type_name())
      ->check(CLI::IsMember(precisions()))
      ->capture_default_str();
  command->add_option("--dropout", flags->dropout, "instead of the config's")->check(between(0.0, 0.99));
  command->add_option("--seed", s.seed, "of initialisation, batches and dropout")
      ->check(CLI::Range(int64_t{0}, int64_t{0xffffffff}))
      ->capture_default_str();
  command
      ->add_option("--validation-fraction", flags->validation_fraction,
                   "end of the text that is not trained on (without --valid)")
      ->check(between(0.0, 0.9))
      ->capture_default_str();
  command->add_option("--evaluate-every,--eval-interval", flags->evaluate_every, "iterations")
      ->check(some)
      ->capture_default_str();
  command
      ->add_option(
          "--evaluation-batches,--eval-iters", flags->evaluation_batches,
          "batches of an evaluation (the last one, and all that decide which model is best, use the whole split)")
      ->check(some)
      ->capture_default_str();
  command->add_flag("--no-last-evaluation", flags->no_last_evaluation,
                    "end without the evaluation of the whole validation split, which may take longer than a short run");
  command
      ->add_option("--score-lines", flags->score_lines,
                   "with --valid: lines that an evaluation translates or tags, or questions that it answers, and "
                   "scores (the last "
                   "one, and those that decide which model is best: all); 0: none")
      ->check(not_negative())
      ->capture_default_str();
  command
      ->add_option("--checkpoint-every", flags->checkpoint_every,
                   "iterations; fewer checkpoints, unless given, where they would take a twentieth of the time")
      ->check(some)
      ->capture_default_str();
  command->add_option("--keep", flags->keep, "keep the last so many checkpoints in RUN; --resume may change it")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command
      ->add_option("--keep-best", flags->keep_best,
                   "keep the model of the best evaluation in RUN/best: by loss or a score of its kind of files")
      ->check(CLI::IsMember({"loss", "bleu", "chrf", "exact_match", "accuracy", "margin", "macro_f1", "entity_f1", "f1",
                             "masked_accuracy", "word_accuracy", "mrr", "accuracy_at_1", "micro_f1", "pearson",
                             "spearman", "average_precision"}));
  command
      ->add_option("--early-stopping", flags->early_stopping,
                   "end after so many evaluations without a better one (by --keep-best, else by loss)")
      ->check(not_negative());
  command->add_option("--average", flags->average, "write the mean of the last so many checkpoints to RUN/average")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--average-best", flags->average_best,
                   "write the mean of the models of the so many best evaluations (by --keep-best, else by loss) to "
                   "RUN/average")
      ->check(CLI::Range(1, 1000));
  command
      ->add_option("--moving-average", s.moving_average,
                   "write a moving average of the parameters with this decay, as 0.999, to RUN/average")
      ->check(between(0.0, 0.9999999));
  put_below(*command, "Files",
            {"--valid", "--validation-fraction", "--tokenizer", "--tokenizer-kind", "--vocabulary", "--apart",
             "--target-tokenizer", "--source-lang", "--target-lang", "--bytes", "--skip-long", "--mask-share",
             "--stride", "--label-kind"});
  for (const JobKind& kind : job_kinds()) put_below(*command, "Files", {kind.option});
  put_below(*command, "The model", {"--set", "--from", "--lora", "--weights", "--dropout", "--pooling"});
  put_below(*command, "The run", {"--out", "--resume", "--plan", "--seed"});
  put_below(*command, "How long", {"--iterations", "--epochs", "--minutes", "--early-stopping"});
  put_below(*command, "Batches and memory",
            {"--batch", "--batch-tokens", "--context", "--accumulate", "--gradient-parts", "--checkpoint-activations",
             "--offload-optimizer", "--precision"});
  put_below(*command, "Learning",
            {"--learning-rate", "--schedule", "--min-learning-rate", "--warmup", "--weight-decay", "--clip",
             "--label-smoothing", "--beta", "--preference-loss", "--preference-margin", "--similarity-scale", "--beta1",
             "--beta2"});
  put_below(*command, "Evaluations and what is kept",
            {"--evaluate-every", "--evaluation-batches", "--no-last-evaluation", "--score-lines", "--checkpoint-every",
             "--keep", "--keep-best", "--average", "--average-best", "--moving-average"});
  command->callback([flags, command] {
    remember_given(*command, flags->given);
    if (flags->given.contains("--min-learning-rate") && flags->schedule != "cosine" && flags->schedule != "linear")
      throw UsageError(fmt::format("--min-learning-rate is where cosine and linear end; --schedule {} has no such end",
                                   flags->schedule));
    TrainSettings& settings = flags->settings;
    if (!flags->resume && !flags->given.contains("--learning-rate")) {
      if (flags->schedule == "noam")
        settings.learning_rate = 1;
      else if (flags->files.contains("--preferences"))
        settings.learning_rate = flags->lora.empty() ? preference_rate : preference_lora_rate;
      else if (!flags->from.empty())
        settings.learning_rate = flags->lora.empty() ? fine_tuning_rate : lora_rate;
    }
    // A resumed run has a rate of its own to begin with.
    if (!flags->resume && !flags->given.contains("--min-learning-rate"))
      settings.min_learning_rate = settings.learning_rate / 10;
    train(*flags);
  });
}

}  // namespace vkformer
