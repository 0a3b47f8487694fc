#pragma once
// The verbs of `vkformer` and what each can be asked for. main.cpp turns the command line into these; it alone includes
// the command-line library, which takes the compiler longer than all else.

#include <map>
#include <optional>
#include <set>

#include "models/data/number_split.h"
#include "models/training/trainer.h"
#include "runtime/conform/conform.h"
#include "tools/cli/generate_flags.h"
#include "tools/cli/pipeline_budget.h"

namespace vkformer {

struct TrainFlags {
  CommonFlags common;
  std::string config, out;
  std::vector<std::string> changes;                       ///< KEY=VALUE, of the config
  std::string from;                                       ///< model folder to start from, instead of a config
  std::map<std::string, std::vector<std::string>> files;  ///< by the option that names them, see job_kinds()
  std::vector<std::string> valid;                         ///< files of the same kind, not trained on
  std::string tokenizer;                                  ///< folder; empty: one is made
  std::string target_tokenizer;                           ///< of pairs, where the sides have a vocabulary each
  bool apart = false;                                     ///< pairs get a vocabulary each
  std::string source_language, target_language;           ///< of pairs, for a tokenizer of many languages
  std::string tokenizer_kind = "bpe";                     ///< of one that is made
  int64_t vocabulary = 8000;                              ///< its size
  TrainSettings settings;
  std::string schedule = "cosine";
  double label_smoothing = -1;  ///< -1: as the config says
  int64_t batch = 12;           ///< B, sequences of a micro-batch; with labels or masked words the most
  int64_t batch_tokens = 4096;  ///< positions of a micro-batch of pairs, on the longer side, or of texts
  int64_t context = 0;          ///< T, positions of a sequence; 0: the model's
  double mask_share = 0.15;     ///< of the words, which are masked
  double similarity_scale = Similarity().scale;
  std::string label_kind;  ///< "": as the labels, or the model, are
  std::string pooling;     ///< of similar texts; "": as the model's files say
  double beta = 0.1;       ///< of preferences
  std::string preference_loss = "dpo";
  double preference_margin = Preference().margin;
  int64_t stride = -1;        ///< tokens that windows of a text share; -1: as usual
  bool skip_long = false;     ///< leave out pairs with an empty side, or one of more positions than `context`
  std::string dtype = "f32";  ///< --precision
  std::string lora;           ///< see lora_flag(); empty: all parameters are trained
  std::string weights;        ///< type of frozen ones; empty: --precision's or that of the files
  double dropout = -1;
  double validation_fraction = 0.1;
  int64_t evaluate_every = 250, evaluation_batches = 20, checkpoint_every = 250;
  int64_t score_lines = 200;        ///< of an evaluation on pairs or questions
  int64_t keep = 1;                 ///< last checkpoints that RUN has
  std::string keep_best;            ///< metric by which RUN/best is kept; empty: it is not
  int64_t epochs = 0;               ///< instead of iterations
  double minutes = 0;               ///< of this process after which the run ends; 0: no limit
  int64_t early_stopping = 0;       ///< evaluations without a better one after which the run ends; 0: never
  int64_t average = 1;              ///< last checkpoints whose mean is made at the end
  int64_t average_best = 0;         ///< best evaluations whose models' mean is made instead; 0: none
  bool checkpoint_exactly = false;  ///< `checkpoint_every` was asked for, when the run began or later
  bool bytes = false, resume = false, plan = false;
  bool no_last_evaluation = false;  ///< none of the whole split when the run is complete
  /// Names of the options on the command line ("--batch"): with --resume they override the run's own settings.
  std::set<std::string> given;

  /// Whether evaluations decide what is kept, or when to end.
  bool follows_best() const { return !keep_best.empty() || early_stopping > 0 || average_best > 0; }
};

/// Of verbs that read a text a line.
struct TextsFlags {
  CommonFlags common;
  std::string model, adapter;       ///< folders; no adapter: empty
  std::string dtype;                ///< of weights; empty: f32, or as filed
  std::optional<std::string> text;  ///< instead of standard input
  int64_t batch_tokens = 4096;      ///< positions of a batch
};

struct ClassifyFlags : TextsFlags {
  std::vector<std::string> pictures;      ///< files, for a model that sees, instead of texts
  std::vector<std::string> candidates;    ///< classes that the model does not know; none: its own
  std::optional<std::string> hypothesis;  ///< what is said of a text or a picture, with a candidate at {}
  bool several = false;                   ///< each candidate may hold, by itself
  std::optional<std::string> query;       ///< prints the lines that answer it best instead of labels
  int64_t top = 10;                       ///< lines to print for the query
};

struct FillFlags : TextsFlags {
  int64_t top = 0;  ///< candidates to print for each mask; 0: the filled line
};

struct EmbedFlags : TextsFlags {
  std::vector<std::string> pictures;                ///< files, for a model that sees, instead of texts
  std::string pooling;                              ///< "": as the model's files say
  std::optional<std::string> query;                 ///< prints the lines nearest to it instead of embeddings
  std::optional<std::string> prefix, query_prefix;  ///< before each line, before the query; nothing: the files'
  int64_t top = 10;                                 ///< lines to print for the query
  std::string out;                                  ///< safetensors file for the embeddings, instead of stdout
};

struct AnswerFlags {
  CommonFlags common;
  std::string model, adapter, context_file;
  std::string dtype;                             ///< of weights; empty: f32, or as filed
  std::optional<std::string> context, question;  ///< instead of a file, instead of standard input
  int64_t stride = -1;                           ///< tokens that windows of a text share; -1: as usual
  int64_t batch_tokens = 4096;                   ///< positions of a batch
};

struct LogitsFlags {
  CommonFlags common;
  std::string model, ids, out, adapter;
  std::string dtype;                ///< of weights; empty: f32, or as filed
  std::optional<std::string> text;  ///< instead of ids
};

struct PerplexityFlags {
  CommonFlags common;
  std::string model, adapter, file;
  std::string dtype;  ///< of weights; empty: f32, or as filed
  std::string cache_dtype;
  std::optional<std::string> text;  ///< instead of a file; neither: standard input
  std::string against;              ///< another model that its predictions are compared with
  std::string against_dtype;        ///< of that one's weights, or of the same model's
  int64_t context = 0;              ///< positions of a window; 0: the model's, at most 2048
  std::optional<int64_t> shared;    ///< tokens of one that the one before has scored; nothing: half of it
  int64_t tokens = 0;               ///< only the first so many of the text; 0: all
  int64_t batch_tokens = 2048;      ///< positions of a run
};

struct AttentionFlags {
  CommonFlags common;
  std::string model, text;
  std::string target;  ///< of a translation, or what follows the text; empty: see attention_page()
  std::string out = "attention.html";
};

struct ConvertFlags {
  std::string model, out;
  std::string dtype;    ///< f32, f16 or bf16, of a GGUF file a mixture; empty: f32
  std::string adapter;  ///< folder of the adapter to be merged; empty: none
  bool mmproj = false;  ///< the eyes alone
  bool quiet = false;
};

struct NumbersFlags {
  std::string source, target;  ///< languages
  std::string out = "numbers";
  NumberSplit::Settings split;
};

struct TonesFlags {
  std::string out = "tones";
  int64_t train = 2000, valid = 200, test = 200;  ///< recordings
  int64_t digits = 6;                             ///< most of one recording
  uint32_t seed = 1;
};

struct ShapesFlags {
  std::string out = "shapes";
  int64_t train = 4000, valid = 400, test = 400;  ///< pictures
  uint32_t seed = 1;
};

struct TokensFlags {
  std::vector<std::string> files;
  std::string kind = "unigram", out;
  std::string layout;  ///< empty: by kind
  int64_t size = 8000;
  double coverage = 1;
  bool lowercase = false;
  bool quiet = false;
};

struct DecodeFlags {
  std::string model;
  std::string file = "-";          ///< of lines of ids; "-": standard input
  std::optional<std::string> ids;  ///< instead of a file
  bool special = false;            ///< special tokens are shown, too
  bool json = false;
};

struct EncodeFlags {
  std::string model;
  std::string file = "-";           ///< of lines; "-": standard input
  std::string out;                  ///< token file of the whole text, instead of printing
  std::optional<std::string> text;  ///< instead of a file
  bool special = true;              ///< with the tokens that the tokenizer puts around a text
  bool json = false;
};

struct ConformFlags {
  CommonFlags common;
  ConformOptions options;
  std::string report;
  bool as_gpu = false;
  bool verbose = false;
  std::vector<std::string> matrix;    ///< reports to be shown as a matrix
  std::vector<std::string> compared;  ///< two reports
  std::string kit;                    ///< folder for a case that runs without vkformer
  std::string single, elsewhere;      ///< see print_proof_matrix()
};

struct VerifyFlags {
  CommonFlags common;
  std::vector<std::string> folders;
};

struct InfoFlags {
  CommonFlags common;
  std::string model;
  std::string mmproj;  ///< see ChatFlags
  int64_t batch = 1, context = 0;
};

struct BenchFlags {
  CommonFlags common;
  // One op.
  std::string op;
  std::vector<std::string> inputs, attributes;
  std::string candidate;
  // A model.
  std::string model = "4x128x4:65:64";
  std::vector<int64_t> prompts{64}, tokens{32};
  int64_t texts = 1;              ///< generated side by side, beside one alone
  int64_t draft_tokens = 0;       ///< guesses that are checked, in runs of each number of rows up to theirs
  bool run_ahead = true;          ///< when generating one
  std::string dtype;              ///< of weights when generating; empty: f32, or as filed
  std::string cache_dtype;        ///< as of GenerateFlags
  std::string precision = "f32";  ///< when training
  int64_t batch = 12;
  bool roof = false;
  std::string output = "md";
  int repetitions = 5;
};

struct TuneFlags {
  CommonFlags common;
  std::string model = "4x128x4:65:64";
  std::string dtype, cache_dtype, precision = "f32";  ///< as of BenchFlags
  int64_t batch = 12, context = 0, accumulate = 1;
  std::vector<int64_t> prompts;         ///< see prompt_lengths()
  int64_t texts = 1, draft_tokens = 0;  ///< as of BenchFlags
};

struct PipelinesFlags {
  CommonFlags common;
  std::vector<std::string> models;
  std::vector<std::string> dtypes{""}, precisions{"f32"};  ///< as of BenchFlags
  int64_t batch = 4, context = 0;
  std::vector<int64_t> prompts;         ///< see prompt_lengths()
  int64_t texts = 1, draft_tokens = 0;  ///< as of BenchFlags
  bool all = false;                     ///< every legal kernel of every op, too
  bool as_gpu = false;                  ///< kernels are chosen as on a GPU
  std::vector<std::string> modules;     ///< files of SPIR-V to compile beside the kernels
  bool verbose = false;                 ///< all that the driver says of each pipeline
  std::string report;                   ///< file to be written
  PipelineBudget budget;
  std::vector<std::string> judged;  ///< reports to be judged
  std::string allowed;              ///< file of the spills that are no fault, see judge_pipelines()
  double slow = 5;                  ///< seconds of a core that a pipeline may take
};

struct ProfileFlags {
  std::vector<std::string> compared;  ///< two files of --profile
  bool json = false;
};

struct TranscribeFlags {
  CommonFlags common;
  std::string model;
  std::vector<std::string> recordings;  ///< files
  std::string adapter;                  ///< folder; empty: none
  std::string dtype, cache_dtype;       ///< as GenerateFlags has them
  std::string language;                 ///< that is spoken; empty: as it sounds
  std::string prompt;                   ///< what was said before
  bool translate = false;               ///< into English
  bool no_times = false;
  bool words = false;     ///< with their times
  bool per_file = false;  ///< a line a recording
  int64_t beams = 5;
  std::string format = "text";  ///< or "srt", "vtt"
  std::string out;              ///< folder for a file a recording; empty: stdout
};

/// Of a model on files; what is not given is as in the run that trained it.
struct EvaluateFlags {
  CommonFlags common;
  std::string model, from;  ///< from: an adapter's model; empty: the one it names
  std::string reference;    ///< what preferences are told beside; empty: an adapter's model
  std::map<std::string, std::vector<std::string>> files;  ///< as TrainFlags has them
  std::string dtype = "f32";                              ///< of the weights
  int64_t context = 0, batch_tokens = 0;                  ///< 0: not given
  std::set<std::string> given;                            ///< names of the options on the command line
};

struct DownloadFlags {
  std::string model;  ///< OWNER/NAME or OWNER/NAME:QUANT
  std::string revision = "main";
  bool all = false, dry_run = false, quiet = false;
};

struct ScoreFlags {
  std::string reference, hypothesis = "-";  ///< text files; "-": standard input
  std::vector<std::string> metrics{"bleu", "chrf"};
  bool lower_case = false, json = false;
};

void train(TrainFlags flags);
void generate(GenerateFlags flags);
void generate_ids(const GenerateFlags& flags);
/// generate for the text of an encoder-decoder, or with beams: a search whose result is text.
void search_text(const GenerateFlags& flags);
void chat(const ChatFlags& flags);
void serve(const ServeFlags& flags);
void translate(GenerateFlags flags);
void transcribe(const TranscribeFlags& flags);
void classify(ClassifyFlags flags);
void fill(const FillFlags& flags);
void embed(const EmbedFlags& flags);
void perplexity(const PerplexityFlags& flags);
/// The loss and the scores of a model on files like those that it was trained on.
void evaluate_model(const EvaluateFlags& flags);
void tag(const TextsFlags& flags);
void answer(const AnswerFlags& flags);
void logits(const LogitsFlags& flags);
/// A page with the weights of attention. Without a target an encoder-decoder looks at its own greedy one.
void attention_page(const AttentionFlags& flags);
void convert(const ConvertFlags& flags);
void download(const DownloadFlags& flags);
void write_numbers(const NumbersFlags& flags);
void write_tones(const TonesFlags& flags);
void write_shapes(const ShapesFlags& flags);
void tokens(const TokensFlags& flags);
void encode(const EncodeFlags& flags);
void decode(const DecodeFlags& flags);
void conform(const ConformFlags& flags);
/// Prints what differs between two of its reports: verdicts, errors, times, limits of the device. Throws Error when a
/// check failed in the second alone.
void compare_reports(const std::string& before, const std::string& after);
/// Prints which kernels of this build the reports prove. Throws Error when one is proved on fewer than two drivers: on
/// none where its "kernel/variant" matches the regular expression `single`; those of `elsewhere` need no proof here.
void print_proof_matrix(const std::vector<std::string>& reports, const std::string& single,
                        const std::string& elsewhere);
void verify(const VerifyFlags& flags);
void score(const ScoreFlags& flags);
void info(InfoFlags flags);
void bench_op(const BenchFlags& flags);
void bench_model(const BenchFlags& flags);
void bench_roof(const BenchFlags& flags);
void tune(const TuneFlags& flags);
/// What the driver's compiler makes of kernels. Runs nothing.
void pipelines(const PipelinesFlags& flags);
/// Prints a table of what several devices' reports say of the kernels that models choose. Throws Error when a pipeline
/// could not be made or took longer than `slow`, when a chosen one spills, and when more of the others spill than the
/// file `allowed` has: {"report's name": {"kernel/variant": pipelines}}.
void judge_pipelines(const PipelinesFlags& flags);
/// Prints which kernels became slower or faster from the first profile to the second, by more than their runs scatter.
void compare_profiles(const ProfileFlags& flags);
void print_devices(bool json);
void print_ops(const CommonFlags& flags);

}  // namespace vkformer
