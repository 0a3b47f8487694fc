// What the verbs that write text can be asked for.

#include "tools/cli/help_text.h"
#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

void add_dtypes(CLI::App& command, GenerateFlags& flags) {
  flags.dtype.clear();
  add_weight_dtype(
      command, flags.dtype,
      "type of the weights in the device's memory (default: f32; of a .gguf or a quantised folder the files' own)");
  add_cache_dtype(command, flags.cache_dtype);
}

void add_beam_flags(CLI::App& command, GenerateFlags& flags) {
  command.add_option("--beams,--num-beams,--beam-size", flags.beams, "beams of each source")
      ->check(CLI::Range(1, 1024));
  command
      .add_option("--length-penalty", flags.length_penalty,
                  "with --beams: a score is its log-probability / length ^ this")
      ->check(between(-100.0, 100.0));
  command.add_flag("--early-stopping", flags.early_stopping, "with --beams: end with the first hypotheses");
  put_below(command, "Beam search", {"--beams", "--length-penalty", "--early-stopping"});
}

/// How tokens are chosen, as llama.cpp names it. What is not given here, the model's files say.
void add_sampling_flags(CLI::App& command, GenerateFlags& flags) {
  command.add_option("--temp,--temperature", flags.sampling.temperature, "temperature; 0: always the likeliest token")
      ->check(not_negative());
  command.add_option("--top-k", flags.sampling.top_k, "only the k likeliest tokens; 0: off")->check(not_negative());
  command.add_option("--top-p", flags.sampling.top_p, "only the likeliest tokens that together reach this probability")
      ->check(between(0.0, 1.0));
  command
      .add_option("--min-p", flags.sampling.min_p,
                  "only tokens at least so likely, as a share of the likeliest; 0: off")
      ->check(between(0.0, 1.0));
  command
      .add_option("--repeat-penalty,--repetition-penalty", flags.penalties.repeat,
                  "divides the logits of recent tokens where they are positive, else multiplies them; 1: off")
      ->check(between(1e-3, 1e3))
      ->capture_default_str();
  command
      .add_option("--repeat-last-n", flags.penalties.last,
                  "how many tokens are recent, prompt included; 0: none, -1: all")
      ->check(CLI::Range(int64_t{-1}, int64_t{1} << 31))
      ->capture_default_str();
  command
      .add_option("--presence-penalty", flags.penalties.presence, "taken from the logit of each recent token; 0: off")
      ->check(between(-1e3, 1e3))
      ->capture_default_str();
  command
      .add_option("--frequency-penalty", flags.penalties.frequency,
                  "the same for each time that the token came; 0: off")
      ->check(between(-1e3, 1e3))
      ->capture_default_str();
  command
      .add_option("--logit-bias", flags.logit_bias,
                  "added to the logit of a token: ID+VALUE or ID-VALUE, also ID-inf; again for more")
      ->allow_extra_args(false);
  command.add_option("--seed", flags.seed, "of the draws (default: a new one, printed)")
      ->check(CLI::Range(int64_t{0}, int64_t{0xffffffff}));
  put_below(command, "Choosing tokens",
            {"--temp", "--top-k", "--top-p", "--min-p", "--repeat-penalty", "--repeat-last-n", "--presence-penalty",
             "--frequency-penalty", "--logit-bias", "--seed"});
}

/// Of verbs that write a text token by token.
void add_draft_flags(CLI::App& command, GenerateFlags& flags) {
  CLI::Option* model =
      command
          .add_option("--draft-model,--model-draft", flags.draft_model,
                      "a smaller model of the same tokens guesses what comes next; several guesses are checked in one "
                      "run, the text stays the same")
          ->type_name("MODEL");
  CLI::Option* lookup = command.add_flag(
      "--draft-lookup", flags.draft_lookup,
      "guess what followed the same tokens before: for answers that repeat what they are about, like code");
  model->excludes(lookup);
  command.add_option("--draft-tokens,--draft-max", flags.draft_tokens, "most guesses in a run")
      ->check(CLI::Range(int64_t{1}, int64_t{64}))
      ->capture_default_str();
  put_below(command, "Guessed tokens", {"--draft-model", "--draft-lookup", "--draft-tokens"});
}

void add_grammar_flags(CLI::App& command, GenerateFlags& flags) {
  std::vector<CLI::Option*> options;
  options.push_back(
      command.add_option("--grammar", flags.grammar, "the text keeps to this grammar, in llama.cpp's GBNF"));
  options.push_back(
      command.add_option("--grammar-file", flags.grammar_file, "the same from a file")->type_name("FILE"));
  options.push_back(
      command.add_option("-j,--json-schema", flags.schema, "the text is JSON of this schema; {}: any JSON"));
  options.push_back(
      command.add_option("--json-schema-file", flags.schema_file, "the same from a file")->type_name("FILE"));
  for (CLI::Option* option : options)
    for (CLI::Option* other : options)
      if (other != option) option->excludes(other);
  put_below(command, "Form of the text", {"--grammar", "--grammar-file", "--json-schema", "--json-schema-file"});
}

void add_translate(CLI::App& app) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app.add_subcommand(
      "translate", "text to text with an encoder-decoder\n: a line on stdout for each line on stdin, in its order");
  add_common_flags(*command, flags->common);
  command->add_option("model", flags->model, "model folder, run folder or .gguf")->required();
  command->add_option("-p,--prompt", flags->prompt, "one text, instead of stdin; -: stdin");
  command->add_option("--prefix", flags->prefix, "text in front of each line, such as T5's \"summarize: \"");
  command
      ->add_option("--source-lang", flags->source_language,
                   "language of the lines, for a model of many: fra_Latn, or fr; a wrong one gets their list")
      ->type_name("LANG");
  command->add_option("--target-lang", flags->target_language, "language to write, for a model of many")
      ->type_name("LANG");
  command->add_flag("--cut-long", flags->cut_long,
                    "cut lines that are longer than the model's positions, instead of refusing them");
  add_dtypes(*command, *flags);
  add_adapter(*command, flags->adapter);
  add_beam_flags(*command, *flags);
  command
      ->add_option("--n-best,--return", flags->returned, "so many rows for each line: its hypotheses with their scores")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("-n,--tokens", flags->tokens,
                   "most tokens to write for a line (default: the model's, else twice the source's and 10)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command
      ->add_option(
          "--batch-tokens", flags->batch_tokens,
          "positions of a batch: lines times beams times length; what some 32 batches hold is written together")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  command->callback([flags, command] {
    remember_given(*command, flags->given);
    if (flags->given.contains("--n-best")) flags->given.insert("--samples");
    translate(*flags);
  });
}

void add_transcribe(CLI::App& app) {
  auto flags = std::make_shared<TranscribeFlags>();
  CLI::App* command = app.add_subcommand(
      "transcribe",
      "speech to text with Whisper\n: a line on stdout for each segment of a recording, or subtitles, with --json its "
      "times and language, too");
  add_common_flags(*command, flags->common);
  command->add_option("model", flags->model, "model folder")->required();
  command
      ->add_option("recordings", flags->recordings, "audio files: WAV, FLAC, Ogg, MP3 and what else libsndfile reads")
      ->required()
      ->type_name("FILE..");
  command->add_option("--language", flags->language, "that is spoken: de, en, ..; default: as the first 30 s sound")
      ->type_name("LANG");
  command->add_flag("--translate", flags->translate, "write English, whatever is spoken");
  command->add_option("-p,--prompt", flags->prompt,
                      "what was said before, with names and words as they are to be spelled");
  command->add_option("--beams,--beam-size", flags->beams, "beams; 1: the likeliest token")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--format", flags->format, "text, srt or vtt (subtitles)")
      ->check(CLI::IsMember({"text", "srt", "vtt"}))
      ->capture_default_str();
  command->add_flag("--per-file", flags->per_file,
                    "a line for each recording, empty where nobody speaks, as 'score --metric wer' wants them; with "
                    "--json an object for each");
  command->add_flag("--no-times", flags->no_times, "a segment for each window of 30 s: no times are written");
  command->add_flag("--words,--word-timestamps", flags->words,
                    "when each word was said: with --json \"words\" of each segment, in subtitles one for each word");
  command->add_option("--out", flags->out, "write FOLDER/RECORDING.txt (.srt, .vtt, .jsonl) instead of stdout")
      ->type_name("FOLDER");
  add_weight_dtype(*command, flags->dtype, "type of the weights in the device's memory (default: f32)");
  add_cache_dtype(*command, flags->cache_dtype);
  add_adapter(*command, flags->adapter);
  command->callback([flags] {
    for (const auto& [given, other] : {std::pair{flags->common.json, "--json"}, {flags->per_file, "--per-file"}})
      if (given && flags->format != "text")
        throw UsageError(fmt::format("--format {} excludes {}; give one of them", flags->format, other));
    if (flags->words && !flags->common.json && flags->format == "text")
      throw UsageError("a text has no place for times of words; give --words with --json, or --format srt or vtt");
    transcribe(*flags);
  });
}

void add_generate(CLI::App& app) {
  auto flags = std::make_shared<GenerateFlags>();
  CLI::App* command = app.add_subcommand(
      "generate",
      "write text with a model\n. Tokens are chosen as the flags say, else as its generation_config.json does; --temp, "
      "--top-k, --top-p, --min-p or --seed draw, and so does a decoder without such a file");
  add_common_flags(*command, flags->common);
  add_tune_flag(*command, flags->common);
  command->add_option("model", flags->model, "model folder, run folder or .gguf")->required();
  CLI::Option* prompt =
      command->add_option("-p,--prompt", flags->prompt,
                          "the text to continue, or for an encoder-decoder the source text; -: standard input");
  add_dtypes(*command, *flags);
  add_adapter(*command, flags->adapter);
  command->add_option("-n,--tokens,--n-predict,--max-new-tokens", flags->tokens, "tokens to write")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31))
      ->capture_default_str();
  add_sampling_flags(*command, *flags);
  command
      ->add_option("--samples,--num-samples,--num-return-sequences,--return,--n-best", flags->returned,
                   "texts of each prompt: drawn one by one or, with --beams, the best so many")
      ->check(CLI::Range(1, 1024));
  put_below(*command, "Choosing tokens", {"--samples"});
  add_draft_flags(*command, *flags);
  add_grammar_flags(*command, *flags);
  command->add_flag("--no-display-prompt", flags->no_display_prompt,
                    "print what is written behind the prompt alone, as is done anyway where it has a form");
  CLI::Option* ids =
      command
          ->add_option("--ids", flags->ids,
                       "token ids like 5,17,3 instead of text (an encoder's source, or a prompt); again for a batch. "
                       "Printed are ids and, where there is a tokenizer, their text")
          ->allow_extra_args(false)
          ->excludes(prompt);
  add_text_file(*command, flags->file, {prompt, ids});
  add_beam_flags(*command, *flags);
  command->callback([flags, command] {
    remember_given(*command, flags->given);
    if (flags->ids.empty() && !flags->given.contains("--prompt") && flags->file.empty())
      throw UsageError("generate needs -p TEXT, -f FILE or --ids IDS");
    flags->ids.empty() ? generate(*flags) : generate_ids(*flags);
  });
}

/// Of verbs that write answers.
void add_answer_flags(CLI::App& command, ChatFlags& flags) {
  add_mmproj(command, flags.mmproj);
  command
      .add_option("--template", flags.chat_template,
                  "Jinja template of the conversation, instead of the folder's own: a file, or chatml")
      ->type_name("FILE");
  command
      .add_option("--template-arg", flags.template_arguments,
                  "a variable of the template and its value, JSON or a word, like enable_thinking=false for Qwen 3; "
                  "may be given again")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  add_dtypes(command, flags);
  add_adapter(command, flags.adapter);
  command
      .add_option("-n,--tokens,--n-predict,--max-new-tokens", flags.tokens,
                  "most tokens of an answer (default: as the context has, or a server's request says)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 31));
  add_sampling_flags(command, flags);
}

/// Of the same, but for the profile, which a server has not.
void add_answering(CLI::App& command, ChatFlags& flags, const char* quiet) {
  flags.answers = true;
  add_memory_flags(command, flags.common);
  add_device_flags(command, flags.common);
  command.add_flag("-q,--quiet", flags.common.quiet, quiet);
  add_segment_flag(command, flags.common);
  add_tuning_flag(command, flags.common);
  command.add_option("model", flags.model, "model folder, run folder or .gguf")->required();
}

void add_chat(CLI::App& app) {
  auto flags = std::make_shared<ChatFlags>();
  CLI::App* command = app.add_subcommand(
      "chat",
      "talk with a model by its chat template\n: questions from -p or, a line each, from stdin; /help there lists "
      "commands. "
      "Tokens are chosen as with 'generate'; without a generation_config.json at --temp 0.8 --top-k 40 --top-p 0.95 "
      "--min-p 0.05");
  add_answering(*command, *flags, "answers only");
  add_profile_flag(*command, flags->common);
  CLI::Option* prompt = command->add_option("-p,--prompt", flags->prompt,
                                            "one question; the command ends with its answer; -: standard input");
  add_text_file(*command, flags->file, {prompt});
  command
      ->add_option("--image", flags->images,
                   "a picture (JPEG, PNG, WebP) that is shown with the first question, to a model that sees; again for "
                   "more")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command->add_option("--system", flags->system, "what the model is told before the conversation");
  command
      ->add_option(
          "--context", flags->context,
          "positions to keep; when they are full the oldest questions and answers are left out (the model's, if "
          "that has fewer)")
      ->check(CLI::Range(int64_t{16}, int64_t{1} << 31))
      ->capture_default_str();
  command->add_flag("--show-prompt", flags->show_prompt, "print the tokens of the first prompt, special ones included");
  add_answer_flags(*command, *flags);
  add_draft_flags(*command, *flags);
  add_grammar_flags(*command, *flags);
  command->callback([flags, command] {
    remember_given(*command, flags->given);
    chat(*flags);
  });
}

void add_serve(CLI::App& app) {
  auto flags = std::make_shared<ServeFlags>();
  CLI::App* command = app.add_subcommand(
      "serve",
      "let programs and a page in the browser talk with a model, by OpenAI's API\n: /v1/chat/completions and "
      "/v1/completions, /v1/responses and Anthropic's /v1/messages, whole or streamed, or /v1/embeddings, or "
      "/v1/rerank and /predict (classifiers), or "
      "/v1/audio/transcriptions and translations (Whisper); "
      "the address is printed once it answers. Where a request "
      "is silent, tokens are "
      "chosen as with 'chat'");
  add_answering(*command, *flags, "no line for each answer");
  command->add_option("--host", flags->host, "address to listen at; one that other machines reach needs a key")
      ->capture_default_str();
  command->add_option("--port", flags->port, "port to listen at; 0: one that is free")
      ->check(CLI::Range(int64_t{0}, int64_t{65535}))
      ->capture_default_str();
  CLI::Option* key = command->add_option("--api-key", flags->key, "who asks must send this key")->type_name("KEY");
  command
      ->add_option("--api-key-file", flags->key_file,
                   "file of the key, which other users of this machine don't see then")
      ->type_name("FILE")
      ->excludes(key);
  command
      ->add_option("--allow-origin", flags->origins,
                   "pages of this origin may ask, like https://chat.example; again for more")
      ->type_name("ORIGIN")
      ->allow_extra_args(false);
  command->add_option("--alias", flags->name, "what clients see as the model's name (default: its folder's)")
      ->type_name("NAME");
  command->add_flag("--embeddings", flags->embeddings,
                    "serve vectors of texts (/v1/embeddings), as encoders and models of sentence-transformers do "
                    "anyway; of a classifier, too");
  command
      ->add_option("--slots,--parallel", flags->slots,
                   "texts to write side by side, each with a cache of its own, a token of each in one run")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command->add_option("--waiting", flags->waiting, "answers that may wait for a slot; requests for more are refused")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command->add_option("--context", flags->context, "positions of a slot (the model's, if that has fewer)")
      ->check(CLI::Range(int64_t{16}, int64_t{1} << 31))
      ->capture_default_str();
  command->add_option("--beams,--beam-size", flags->beams, "beams of a model that reads sound (default: 5)")
      ->check(CLI::Range(1, 64));
  put_below(*command, "Serving",
            {"--host", "--port", "--api-key", "--api-key-file", "--allow-origin", "--alias", "--slots", "--waiting",
             "--context", "--embeddings", "--beams"});
  add_answer_flags(*command, *flags);
  add_draft_flags(*command, *flags);
  command->callback([flags, command] {
    remember_given(*command, flags->given);
#ifdef VKFORMER_SERVES
    serve(*flags);
#else
    fail(
        "this build has no server: install libmicrohttpd with its headers (package libmicrohttpd-dev) and build again");
#endif
  });
}

}  // namespace

void add_generation_verbs(CLI::App& app) {
  add_generate(app);
  add_chat(app);
  add_serve(app);
  add_translate(app);
  add_transcribe(app);
}

}  // namespace vkformer
