// What the verbs that work with one model can be asked for.

#include "models/gguf/mixture.h"
#include "tools/cli/help_text.h"
#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

constexpr const char* batch_of_answers = "positions of a batch; what some 32 batches hold is written together";

void add_batch_tokens(CLI::App& command, int64_t& batch_tokens, const char* what) {
  command.add_option("--batch-tokens", batch_tokens, what)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->capture_default_str();
}

constexpr const char* type_of_weights =
    "type of the weights in the device's memory (default: f32; of a .gguf or a quantised folder the files' own)";

void add_text_flags(CLI::App& command, TextsFlags& flags, const char* model, const char* prompt) {
  add_common_flags(command, flags.common);
  command.add_option("model", flags.model, model)->required();
  command.add_option("-p,--prompt", flags.text, prompt);
  add_weight_dtype(command, flags.dtype, type_of_weights);
  add_adapter(command, flags.adapter);
  add_batch_tokens(command, flags.batch_tokens, batch_of_answers);
}

void add_pictures(CLI::App& command, std::vector<std::string>& pictures) {
  command.add_option("pictures", pictures, "JPEG, PNG or WebP files instead of lines, for a model that sees")
      ->type_name("FILE");
}

void add_top_flag(CLI::App& command, int64_t& top, CLI::Option* query) {
  command.add_option("--top", top, "so many of them")
      ->needs(query)
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->capture_default_str();
}

void add_classify(CLI::App& app) {
  auto flags = std::make_shared<ClassifyFlags>();
  CLI::App* command = app.add_subcommand("classify",
                                         "tell texts or pictures apart\n: label and probability on stdout for each "
                                         "line on stdin, or file given, in its order; with --query the lines "
                                         "that answer it best instead");
  add_text_flags(*command, *flags, "model folder or run folder of a classifier, or of CLIP or SigLIP",
                 "one text, instead of stdin; a tab separates the two of a pair");
  add_pictures(*command, flags->pictures);
  CLI::Option* candidates =
      command
          ->add_option(
              "--candidates,--candidate-labels", flags->candidates,
              "classes, commas between them, that the model need not know: it tells which a text entails "
              "(zero-shot; for models of natural language inference), or which text a picture is like (CLIP, SigLIP)")
          ->delimiter(',')
          ->allow_extra_args(false)
          ->type_name("A,B,..");
  command
      ->add_option("--hypothesis", flags->hypothesis,
                   "what is said of a text or picture, with a candidate in the place of {} (default: This example is "
                   "{}. or This is a photo of {}.)")
      ->needs(candidates);
  command->add_flag("--multi-label", flags->several, "each candidate may hold by itself; all are printed")
      ->needs(candidates);
  CLI::Option* query =
      command
          ->add_option("--query", flags->query,
                       "print how well each line answers this text, and the lines, the best first (rerankers)")
          ->excludes(candidates);
  add_top_flag(*command, flags->top, query);
  command->callback([flags] { classify(*flags); });
}

void add_fill(CLI::App& app) {
  auto flags = std::make_shared<FillFlags>();
  CLI::App* command = app.add_subcommand("fill",
                                         "guess masked words\n: each line on stdin with the likeliest token at each of "
                                         "its masks ([MASK] or <mask>, as its "
                                         "tokenizer has it), in its order; each mask is guessed alone");
  add_text_flags(*command, *flags, "model folder or run folder of a model of masked words",
                 "one text, instead of stdin; -: stdin");
  command
      ->add_option("--top", flags->top,
                   "print this many tokens for each mask instead: line, mask of the line, token, probability, between "
                   "tabs; with --json so many in each object (1)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 20));
  command->callback([flags] { fill(*flags); });
}

void add_tag(CLI::App& app) {
  auto flags = std::make_shared<TextsFlags>();
  CLI::App* command = app.add_subcommand("tag",
                                         "tag words\n: for each line on stdin its words, split at blanks, with their "
                                         "tags, a word a line, and an empty line; "
                                         "with --json an object a line");
  add_text_flags(*command, *flags, "model folder or run folder of a tagger", "one text, instead of stdin; -: stdin");
  command->callback([flags] { tag(*flags); });
}

void add_answer(CLI::App& app) {
  auto flags = std::make_shared<AnswerFlags>();
  CLI::App* command = app.add_subcommand(
      "answer",
      "answer questions by a part of a text\n: an answer on stdout for each question on stdin, in its order, or an "
      "empty "
      "line where the text does not tell; without a text stdin has JSON lines with question and context");
  add_common_flags(*command, flags->common);
  command->add_option("model", flags->model, "model folder or run folder of a model that finds answers")->required();
  CLI::Option* file =
      command->add_option("--context", flags->context_file, "text that has the answers")->type_name("FILE");
  command->add_option("-c", flags->context, "the text itself")->excludes(file);
  command->add_option("-p,--prompt", flags->question, "one question, instead of stdin");
  add_weight_dtype(*command, flags->dtype, type_of_weights);
  add_adapter(*command, flags->adapter);
  add_stride(*command, flags->stride);
  add_batch_tokens(*command, flags->batch_tokens, batch_of_answers);
  command->callback([flags] { answer(*flags); });
}

void add_embed(CLI::App& app) {
  auto flags = std::make_shared<EmbedFlags>();
  CLI::App* command = app.add_subcommand("embed",
                                         "make vectors of texts or pictures, near each other where they mean the "
                                         "same\n: a JSON list on stdout for each line on stdin, or file given, in "
                                         "its order, of length 1; with --query the nearest lines or files instead");
  add_text_flags(*command, *flags, "model folder, run folder or .gguf of an encoder or a decoder",
                 "one text, instead of stdin; -: stdin");
  add_pictures(*command, flags->pictures);
  CLI::Option* query = command->add_option(
      "--query", flags->query,
      "print the cosine of this text and of the lines or pictures nearest to it, and these; of a model that only sees "
      "(ViT, DINOv2) it is a picture's file");
  add_top_flag(*command, flags->top, query);
  command->add_option("--prefix", flags->prefix,
                      "put before each line, like 'passage: ' (default: what the model's files say)");
  command
      ->add_option("--query-prefix", flags->query_prefix,
                   "put before the query, like 'query: ' (default: what the model's files say)")
      ->needs(query);
  command
      ->add_option("--pooling", flags->pooling,
                   "hidden states that count: mean (of all tokens), first or last token (default: what the model's "
                   "files say)")
      ->check(CLI::IsMember({"mean", "first", "last"}));
  command->add_option("--out", flags->out, "safetensors file for them instead: embeddings [lines, width]")
      ->type_name("FILE")
      ->excludes(query)
      ->check(result_file({".safetensors"}));
  command->callback([flags] { embed(*flags); });
}

void add_logits_verb(CLI::App& app) {
  auto flags = std::make_shared<LogitsFlags>();
  CLI::App* command = app.add_subcommand("logits", "write a model's logits of a text or of given ids to a file");
  add_tuning_flag(*command, flags->common);
  add_memory_flags(*command, flags->common);
  add_device_flags(*command, flags->common);
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("model", flags->model, "model folder, run folder or .gguf")->required();
  CLI::Option* text = command->add_option("-p,--prompt", flags->text, "one text, instead of ids; -: standard input");
  command
      ->add_option("--ids", flags->ids,
                   "one row of ids, like 5,17,3, or a safetensors file: input_ids, attention_mask, token_type_ids, "
                   "of decoders position_ids, of encoder-decoders decoder_input_ids [batch, positions]")
      ->type_name("IDS|FILE")
      ->excludes(text);
  add_weight_dtype(
      *command, flags->dtype,
      "type of the weights in the device's memory (default: f32; of a .gguf or a quantised folder the files' own)");
  add_adapter(*command, flags->adapter);
  command->add_option("--out", flags->out, "safetensors file to write: the same and logits")
      ->required()
      ->type_name("FILE")
      ->check(result_file({".safetensors"}));
  command->callback([flags] {
    if (flags->ids.empty() && !flags->text) throw UsageError("logits needs -p TEXT or --ids IDS");
    logits(*flags);
  });
}

void add_perplexity(CLI::App& app) {
  auto flags = std::make_shared<PerplexityFlags>();
  CLI::App* command = app.add_subcommand(
      "perplexity",
      "say how well a decoder predicts a text, and what a smaller type of weights costs\n: every token that has "
      "another "
      "before it is scored once, in windows that share tokens; with --against or --against-dtype beside another's "
      "predictions: Kullback-Leibler divergence, how often both find the same token likeliest");
  add_common_flags(*command, flags->common);
  command->add_option("model", flags->model, "model folder, run folder or .gguf")->required();
  CLI::Option* text = command->add_option("-p,--prompt", flags->text, "one text, instead of stdin; -: stdin");
  add_text_file(*command, flags->file, {text});
  command->add_option("-n,--tokens", flags->tokens, "only the text's first so many tokens")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 40));
  command->add_option("-c,--context", flags->context, "positions of a window (default: the model's, at most 2048)")
      ->check(CLI::Range(int64_t{2}, int64_t{1} << 31));
  command
      ->add_option("--shared", flags->shared,
                   "tokens that a window begins with and the one before has scored (default: half of a window)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  add_batch_tokens(*command, flags->batch_tokens, "positions of a batch");
  add_weight_dtype(*command, flags->dtype, type_of_weights);
  add_cache_dtype(*command, flags->cache_dtype);
  add_adapter(*command, flags->adapter);
  command
      ->add_option("--against", flags->against,
                   "another model of the same tokens (folder, run or .gguf), without the adapter")
      ->type_name("MODEL");
  command
      ->add_option("--against-dtype", flags->against_dtype,
                   "type of that one's weights; without --against the same model in this type")
      ->transform(type_name())
      ->check(CLI::IsMember(weight_types()));
  put_below(*command, "Beside another's predictions", {"--against", "--against-dtype"});
  command->callback([flags] { perplexity(*flags); });
}

void add_info(CLI::App& app) {
  auto flags = std::make_shared<InfoFlags>();
  CLI::App* command =
      app.add_subcommand("info", "say what a model is, whether it runs here, and what memory that takes");
  add_tuning_flag(*command, flags->common);
  add_memory_flags(*command, flags->common);
  add_device_flags(*command, flags->common);
  add_facts_flag(*command, flags->common);
  command->add_flag("--json", flags->common.json, "machine-readable output");
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("model", flags->model, "model folder, run folder, .gguf or config.json")->required();
  add_mmproj(*command, flags->mmproj);
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 31);
  command->add_option("--batch", flags->batch, "sequences of a training step")->check(positive)->capture_default_str();
  command->add_option("--context", flags->context, "positions (default: the model's)")->check(positive);
  command->callback([flags] { info(*flags); });
}

void add_convert(CLI::App& app) {
  auto flags = std::make_shared<ConvertFlags>();
  CLI::App* command = app.add_subcommand(
      "convert", "write a model as one folder, or as a GGUF file\n. It may be sharded, of any type, or a GGUF file");
  command->add_flag("-q,--quiet", flags->quiet, "results only");
  command->add_option("model", flags->model, "model folder, run folder or .gguf")->required();
  command->add_option("out", flags->out, "new folder, or new NAME.gguf")->required();
  command
      ->add_option("--dtype,--weights", flags->dtype,
                   "type of the weights, default f32: of a folder f32, f16 or bf16; of a GGUF file, as llama-quantize "
                   "mixes them without an importance matrix, " +
                       known_mixtures())
      ->transform(type_name())
      ->type_name("TYPE");
  CLI::Option* merge =
      command
          ->add_option("--merge", flags->adapter, "an adapter (PEFT's folder, or a run's) to be added to its weights")
          ->type_name("FOLDER");
  command
      ->add_flag("--mmproj", flags->mmproj,
                 "write what sees pictures alone, as llama.cpp has it: its file beside that of what writes")
      ->excludes(merge);
  command->callback([flags] { convert(*flags); });
}

void add_download(CLI::App& app) {
  auto flags = std::make_shared<DownloadFlags>();
  CLI::App* command = app.add_subcommand(
      "download",
      "get a model from Hugging Face's hub\n: into the cache of its tools (HF_HOME), where OWNER/NAME then stands for "
      "it; prints the folder. HF_TOKEN is for models that are not for everybody, HF_ENDPOINT for another hub");
  command
      ->add_option(
          "model", flags->model,
          "OWNER/NAME; with :QUANT one of its GGUF files, as :Q4_K_M, which is also taken where it has no other "
          "weights")
      ->required()
      ->type_name("NAME");
  command->add_option("--revision", flags->revision, "branch, tag or commit")->capture_default_str();
  command->add_flag("--all", flags->all, "all its files, not only those that are read here");
  command->add_flag("--dry-run", flags->dry_run, "print which files these are, and download none");
  command->add_flag("-q,--quiet", flags->quiet, "the folder only");
  command->callback([flags] {
#ifdef VKFORMER_DOWNLOADS
    download(*flags);
#else
    fail(
        "this build downloads nothing: install libcurl and OpenSSL with their headers (packages libcurl4-openssl-dev "
        "and libssl-dev) and build again");
#endif
  });
}

void add_attention(CLI::App& app) {
  auto flags = std::make_shared<AttentionFlags>();
  CLI::App* command = app.add_subcommand(
      "attention", "show which words look at which, in every layer and head\n: one HTML file that needs no network");
  add_tuning_flag(*command, flags->common);
  add_memory_flags(*command, flags->common);
  add_device_flags(*command, flags->common);
  command->add_flag("-q,--quiet", flags->common.quiet, "results only");
  command->add_option("model", flags->model, "model folder, run folder or .gguf")->required();
  command->add_option("-p,--prompt", flags->text, "the text, of an encoder-decoder the source")->required();
  command->add_option("--target", flags->target,
                      "what an encoder-decoder writes (default: what it would, greedily), an encoder's second text, or "
                      "what follows a decoder's prompt");
  command->add_option("--out", flags->out, "page to write")
      ->type_name("FILE")
      ->capture_default_str()
      ->check(result_file({".html"}));
  command->callback([flags] { attention_page(*flags); });
}

}  // namespace

void add_model_verbs(CLI::App& app) {
  add_train_verb(app);
  add_evaluate_verb(app);
  add_generation_verbs(app);
  add_classify(app);
  add_fill(app);
  add_tag(app);
  add_answer(app);
  add_embed(app);
  add_attention(app);
  add_info(app);
  add_convert(app);
  add_download(app);
  add_perplexity(app);
  add_logits_verb(app);
}

}  // namespace vkformer
