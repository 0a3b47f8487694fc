// What the verbs that make and score texts, and need no model, can be asked for.

#include "tools/cli/verbs.h"

namespace vkformer {

namespace {

void add_score(CLI::App& app) {
  auto flags = std::make_shared<ScoreFlags>();
  CLI::App* command = app.add_subcommand("score", "compare texts or labels, line by line, with the right ones");
  command->add_option("reference", flags->reference, "text file: the right lines")->required();
  command->add_option("hypothesis", flags->hypothesis, "text file: the lines to score; -: standard input")
      ->capture_default_str();
  command
      ->add_option("--metric", flags->metrics,
                   "bleu, chrf: of translations, as sacrebleu; wer, cer: errors of words, of characters, in percent; "
                   "exact: equal lines; labels: each line is a label, up to a tab if there is one")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"bleu", "chrf", "wer", "cer", "exact", "labels"}))
      ->type_name("LIST")
      ->capture_default_str();
  command->add_flag("-l,--lc,--lowercase", flags->lower_case, "put both texts in lower case first");
  command->add_flag("--json", flags->json, "machine-readable output");
  command->callback([flags] { score(*flags); });
}

void add_numbers(CLI::App& data) {
  auto flags = std::make_shared<NumbersFlags>();
  NumberSplit::Settings& split = flags->split;
  CLI::App* command = data.add_subcommand(
      "numbers", "numbers in the words of two languages, line by line: {train,valid,test}.{SOURCE,TARGET}");
  command->add_option("source", flags->source, "language, as en or pt_PT")->required();
  command->add_option("target", flags->target, "language")->required();
  command->add_option("--out", flags->out, "folder")->type_name("DIR")->capture_default_str();
  // Above that ICU's parse, which works in double precision, could not grade what a model writes.
  command->add_option("--to", split.last, "the largest number")
      ->check(CLI::Range(int64_t{9}, int64_t{999'999'999'999'999}))
      ->capture_default_str();
  const auto positive = CLI::Range(int64_t{1}, int64_t{1} << 50);
  command->add_option("--pairs", split.train, "most pairs to train on (default: all that are left)")->check(positive);
  command->add_option("--valid", split.valid, "pairs for validation (default: 1000 or a tenth of all)")
      ->check(positive);
  command->add_option("--test", split.test, "pairs for test (default: 1000 or a tenth of all)")->check(positive);
  command->add_option("--seed", split.seed, "decides which numbers are held out")->capture_default_str();
  command->callback([flags] { write_numbers(*flags); });
}

void add_tones(CLI::App& data) {
  auto flags = std::make_shared<TonesFlags>();
  CLI::App* command = data.add_subcommand(
      "tones", "recordings of digits as a telephone's keys sound, and what they say: {train,valid,test}.jsonl");
  command->add_option("--out", flags->out, "new folder")->type_name("DIR")->capture_default_str();
  const auto recordings = CLI::Range(int64_t{1}, int64_t{1'000'000});
  command->add_option("--count", flags->train, "recordings to train on")->check(recordings)->capture_default_str();
  command->add_option("--digits", flags->digits, "most digits of a recording")
      ->check(CLI::Range(int64_t{1}, int64_t{15}))
      ->capture_default_str();
  command->add_option("--valid", flags->valid, "recordings for validation")->check(recordings)->capture_default_str();
  command->add_option("--test", flags->test, "recordings for test")->check(recordings)->capture_default_str();
  command->add_option("--seed", flags->seed, "decides what is said, and how it sounds")->capture_default_str();
  command->callback([flags] { write_tones(*flags); });
}

void add_shapes(CLI::App& data) {
  auto flags = std::make_shared<ShapesFlags>();
  CLI::App* command =
      data.add_subcommand("shapes", "small pictures of shapes, and what they show: {train,valid,test}.jsonl");
  command->add_option("--out", flags->out, "new folder")->type_name("DIR")->capture_default_str();
  const auto pictures = CLI::Range(int64_t{1}, int64_t{1'000'000});
  command->add_option("--count", flags->train, "pictures to train on")->check(pictures)->capture_default_str();
  command->add_option("--valid", flags->valid, "pictures for validation")->check(pictures)->capture_default_str();
  command->add_option("--test", flags->test, "pictures for test")->check(pictures)->capture_default_str();
  command->add_option("--seed", flags->seed, "decides what is drawn")->capture_default_str();
  command->callback([flags] { write_shapes(*flags); });
}

void add_tokens(CLI::App& app) {
  auto flags = std::make_shared<TokensFlags>();
  CLI::App* command = app.add_subcommand("tokens", "make a vocabulary of text files: a Hugging Face tokenizer.json");
  command->add_flag("-q,--quiet", flags->quiet, "no messages");
  command->add_option("files", flags->files, "text files in UTF-8; several make one joint vocabulary")->required();
  command->add_option("--out", flags->out, "folder for tokenizer.json and tokenizer_config.json")
      ->required()
      ->type_name("FOLDER");
  command
      ->add_option("--kind,--tokenizer-kind", flags->kind,
                   "pieces by likelihood, by merges, or merges of bytes as GPT-2's")
      ->check(CLI::IsMember({"unigram", "bpe", "byte-bpe"}))
      ->capture_default_str();
  command->add_option("--size,--vocabulary", flags->size, "tokens at most")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 24))
      ->capture_default_str();
  command
      ->add_option(
          "--layout", flags->layout,
          "special tokens: translation (</s> behind a text), bert ([CLS] and [SEP] around it), xlnet (<sep> and "
          "<cls> behind it), t5 (</s>, and <extra_id_0> to 99 for gaps), plain (<|endoftext|>, nothing is "
          "added), speech (the same with Whisper's tokens for times); default: plain for byte-bpe, else translation")
      ->check(CLI::IsMember({"translation", "bert", "xlnet", "t5", "plain", "speech"}));
  command
      ->add_option("--coverage", flags->coverage,
                   "share of the characters of the text that get a token, for texts with thousands of them (0.9995)")
      ->check(between(0.98, 1.0))
      ->capture_default_str();
  command->add_flag("--lowercase", flags->lowercase, "texts are made lower case first");
  command->callback([flags] { tokens(*flags); });
}

void add_encode(CLI::App& app) {
  auto flags = std::make_shared<EncodeFlags>();
  CLI::App* command =
      app.add_subcommand("encode", "print a line of token ids for each line of text, or write a token file");
  command->alias("tokenize");
  command
      ->add_option("model", flags->model,
                   "folder with a tokenizer.json: a model, a run, or what tokens wrote; or .gguf")
      ->required();
  CLI::Option* file = command->add_option("file", flags->file, "text file; -: standard input")->capture_default_str();
  CLI::Option* text = command->add_option("-p,--prompt", flags->text, "the text, instead of a file")->excludes(file);
  CLI::Option* special =
      command->add_flag("!--no-special", flags->special, "without the special tokens that belong around a text");
  CLI::Option* json = command->add_flag("--json", flags->json, "text, ids and tokens");
  command
      ->add_option("--out", flags->out,
                   "write the ids of the whole file here (.safetensors), for train --data: it is not read into memory")
      ->type_name("FILE")
      ->excludes(text)
      ->excludes(special)
      ->excludes(json);
  command->callback([flags] { encode(*flags); });
}

void add_decode(CLI::App& app) {
  auto flags = std::make_shared<DecodeFlags>();
  CLI::App* command = app.add_subcommand("decode", "print a line of text for each line of token ids");
  command->alias("detokenize");
  command
      ->add_option("model", flags->model,
                   "folder with a tokenizer.json: a model, a run, or what tokens wrote; or .gguf")
      ->required();
  CLI::Option* file =
      command->add_option("file", flags->file, "file with lines of ids, between blanks or commas; -: standard input")
          ->capture_default_str();
  command->add_option("--ids", flags->ids, "one line of ids, like 5,17,3, instead of a file")->excludes(file);
  command->add_flag("--special", flags->special, "special tokens are shown, too");
  command->add_flag("--json", flags->json, "ids, tokens and text");
  command->callback([flags] { decode(*flags); });
}

}  // namespace

void add_data_verbs(CLI::App& app) {
  CLI::App* data = app.add_subcommand("data", "make a corpus to train on");
  data->require_subcommand(1);
  add_numbers(*data);
  add_tones(*data);
  add_shapes(*data);
  add_tokens(app);
  add_encode(app);
  add_decode(app);
  add_score(app);
}

}  // namespace vkformer
