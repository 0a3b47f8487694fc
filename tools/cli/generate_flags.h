#pragma once
// What the verbs can be asked for that write a text token by token.

#include <set>
#include <vector>

#include "models/generation/generation_config.h"
#include "models/generation/sampling.h"
#include "tools/cli/common_flags.h"

namespace vkformer {

struct GenerateFlags {
  CommonFlags common;
  std::string model, prompt;
  std::string file;     ///< whose text is the prompt; empty: it is `prompt` itself
  std::string adapter;  ///< folder; empty: none
  std::string dtype = "f32";
  std::string cache_dtype;  ///< f32, f16 or bf16; empty: as usual on the device
  int64_t tokens = 200;
  int64_t seed = -1;
  SamplingSettings sampling;
  RecentPenalties penalties;
  std::vector<std::string> logit_bias;  ///< "15043+1.5", "2-inf"
  std::string grammar, grammar_file;    ///< that the text keeps to, as GBNF
  std::string schema, schema_file;      ///< of the JSON that the text is
  std::string draft_model;              ///< whose guesses the model checks; empty: none
  bool draft_lookup = false;            ///< guesses are what followed the same words in the text
  int64_t draft_tokens = 7;  ///< most guesses in a run; with the last token 8 rows, which kernels for few rows take
  bool no_display_prompt = false;  ///< what is written alone is printed, as it is anyway where it has a form
  bool answers = false;            ///< of any length, in a conversation of any length, unless --tokens says
  // Ids instead of text: greedy or beam search.
  std::vector<std::string> ids;
  int64_t beams = 1, returned = 1;
  double length_penalty = 1;
  bool early_stopping = false;
  // Many sources.
  std::string prefix;                            ///< in front of each, such as T5's "translate English to German: "
  int64_t batch_tokens = 0;                      ///< positions of a batch; 0: as usual
  std::string source_language, target_language;  ///< of a model of many
  bool cut_long = false;                         ///< lines that are longer than the model's positions
  std::set<std::string> given;  ///< names of the options on the command line; others come from the model's folder
};

/// The prompt is one question; empty: they come from standard input.
struct ChatFlags : GenerateFlags {
  std::string system;
  std::vector<std::string> images = {};              ///< files, with the first question
  std::string mmproj;                                ///< file of a .gguf's eyes; empty: the folder's, if there is one
  std::string chat_template;                         ///< file or name; empty: the folder's
  std::vector<std::string> template_arguments = {};  ///< NAME=VALUE
  int64_t context = 4096;                            ///< positions of the cache, or the model's where it has fewer
  bool show_prompt = false;
};

/// Its prompt is that of each request.
struct ServeFlags : ChatFlags {
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  std::string key, key_file;
  std::vector<std::string> origins;  ///< of pages that may ask
  std::string name;                  ///< of the model, for clients; empty: its folder's
  int64_t slots = 1, waiting = 64;
  bool embeddings = false;  ///< even of a model that writes text
};

}  // namespace vkformer
