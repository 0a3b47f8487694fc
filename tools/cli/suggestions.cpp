#include "tools/cli/suggestions.h"

#include <algorithm>

namespace vkformer {

std::string name_of_foreign_verb(std::string_view verb) {
  struct Name {
    std::string_view there, here;
  };
  static constexpr Name names[] = {
      {"run", "chat"},         {"server", "serve"},    {"quantize", "convert"}, {"quantise", "convert"},
      {"merge", "convert"},    {"export", "convert"},  {"finetune", "train"},   {"fine-tune", "train"},
      {"predict", "generate"}, {"sample", "generate"}, {"show", "info"},        {"inspect", "info"},
      {"ppl", "perplexity"},   {"pull", "download"},   {"fetch", "download"},
  };
  const auto* found = std::ranges::find(names, verb, &Name::there);
  return found == std::end(names) ? std::string() : std::string(found->here);
}

std::string name_of_foreign_option(std::string_view option) {
  struct Name {
    std::string_view there, here;
  };
  static constexpr Name names[] = {
      {"--after-epochs", "--epochs"},
      {"--num-train-epochs", "--epochs"},
      {"--iters", "--iterations"},
      {"--max-steps", "--iterations"},
      {"--learn-rate", "--learning-rate"},
      {"--lr-scheduler-type", "--schedule"},
      {"--lr-decay", "--schedule"},
      {"--lr-warmup", "--warmup"},
      {"--warmup-steps", "--warmup"},
      {"--warmup-updates", "--warmup"},
      {"--mini-batch", "--batch"},
      {"--per-device-train-batch-size", "--batch"},
      {"--max-tokens", "--batch-tokens"},
      {"--max-length", "--context"},
      {"--max-seq-length", "--context"},
      {"--ctx-size", "--context"},
      {"--ppl-stride", "--shared"},
      {"--stride", "--shared"},
      {"--chunks", "--tokens"},
      {"--ubatch-size", "--batch-tokens"},
      {"--kl-divergence", "--against-dtype"},
      {"--kl-divergence-base", "--against"},
      {"-c", "--context"},
      {"-s", "--seed"},
      {"--do-sample", "--temp"},
      {"--optimizer-delay", "--accumulate"},
      {"--update-freq", "--accumulate"},
      {"--clip-norm", "--clip"},
      {"--max-grad-norm", "--clip"},
      {"--valid-freq", "--evaluate-every"},
      {"--eval-steps", "--evaluate-every"},
      {"--save-freq", "--checkpoint-every"},
      {"--save-steps", "--checkpoint-every"},
      {"--save-total-limit", "--keep"},
      {"--keep-interval-updates", "--keep"},
      {"--exponential-smoothing", "--moving-average"},
      {"--gradient-checkpointing", "--checkpoint-activations"},
      {"--train-sets", "--pairs"},
      {"--train-file", "--data"},
      {"--valid-sets", "--valid"},
      {"--validation-file", "--valid"},
      {"--vocabs", "--tokenizer"},
      {"--dim-vocabs", "--vocabulary"},
      {"--vocab-size", "--size"},
      {"--output-dir", "--out"},
      {"--out-dir", "--out"},
      {"--output", "--out"},
      {"--init-from", "--from"},
      {"--model-name-or-path", "--from"},
      {"--config-overrides", "--set"},
      {"--bf16", "--precision"},
      {"--fp16", "--precision"},
      {"--start", "--prompt"},
      {"--prompt-file", "--file"},
      {"--text", "--prompt"},
      {"--num-samples", "--samples"},
      {"--num-return-sequences", "--return"},
      {"--normalize", "--length-penalty"},
      {"--draft", "--draft-tokens"},
      {"--draft-n", "--draft-tokens"},
      {"--num-assistant-tokens", "--draft-tokens"},
      {"--assistant-model", "--draft-model"},
      {"-md", "--draft-model"},
      {"--prompt-lookup-num-tokens", "--draft-lookup"},
      {"--lora-scaled", "--adapter"},
      {"--lora", "--adapter"},
      {"--outtype", "--dtype"},
      {"--system-prompt", "--system"},
      {"-ctk", "--cache-dtype"},
      {"-ctv", "--cache-dtype"},
      {"--cache-type-k", "--cache-dtype"},
      {"--cache-type-v", "--cache-dtype"},
      {"--kv-cache-dtype", "--cache-dtype"},
      {"--ngl", "--device-memory"},
      {"--n-gpu-layers", "--device-memory"},
      {"--gpu-layers", "--device-memory"},
      {"--main-gpu", "--device"},
      {"--split-mode", "--device"},
      {"--n-cpu-moe", "--device-memory"},
      {"--cpu-moe", "--device-memory"},
      {"--override-tensor", "--device-memory"},
      {"--fit-target", "--device-memory"},
      {"--gpu-memory-utilization", "--device-memory"},
      {"--host-weights", "--device-memory"},
      {"--cpu-offload-gb", "--device-memory"},
      {"--optim-cpu-offload", "--offload-optimizer"},
      {"--tokenizer-name", "--tokenizer"},
  };
  std::string dashes(option);  // nanoGPT and Python write them with underscores
  std::ranges::replace(dashes, '_', '-');
  const auto* found = std::ranges::find(names, dashes, &Name::there);
  return found == std::end(names) ? std::string() : std::string(found->here);
}

}  // namespace vkformer
