#include "tools/cli/suggestions.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace vkformer {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string nearest_name(std::string_view given, std::span<const std::string> names) {
  std::string nearest;
  size_t least = given.size() / 3 + 1;
  for (const std::string& name : names) {
    const bool begins =
        std::min(given.size(), name.size()) >= 4 && (name.starts_with(given) || given.starts_with(name));
    const size_t distance = begins ? 1 : edit_distance(given, name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return nearest;
}

std::string name_of_foreign_verb(std::string_view verb) {
  struct Name {
    std::string_view there, here;
  };
  static constexpr Name names[] = {
      {"help", "--help"},      {"run", "chat"},         {"server", "serve"},    {"quantize", "convert"},
      {"quantise", "convert"}, {"merge", "convert"},    {"export", "convert"},  {"finetune", "train"},
      {"fine-tune", "train"},  {"predict", "generate"}, {"sample", "generate"}, {"show", "info"},
      {"inspect", "info"},     {"ppl", "perplexity"},
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
      {"--text", "--prompt"},
      {"--num-samples", "--return"},
      {"--num-return-sequences", "--return"},
      {"--normalize", "--length-penalty"},
      {"--lora-scaled", "--adapter"},
      {"--lora", "--adapter"},
      {"--outtype", "--dtype"},
      {"--system-prompt", "--system"},
      {"-ctk", "--cache-dtype"},
      {"-ctv", "--cache-dtype"},
      {"--cache-type-k", "--cache-dtype"},
      {"--cache-type-v", "--cache-dtype"},
      {"--kv-cache-dtype", "--cache-dtype"},
      {"--ngl", "--device"},
      {"--n-gpu-layers", "--device"},
      {"--gpu-layers", "--device"},
      {"--main-gpu", "--device"},
      {"--tokenizer-name", "--tokenizer"},
  };
  std::string dashes(option);  // nanoGPT and Python write them with underscores
  std::ranges::replace(dashes, '_', '-');
  const auto* found = std::ranges::find(names, dashes, &Name::there);
  return found == std::end(names) ? std::string() : std::string(found->here);
}

}  // namespace vkformer
