// `vkformer fill`: the words that belong where masks stand.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/data/masked.h"
#include "models/families/registry.h"
#include "models/filling/filled_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_argument.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

void print_candidates(size_t line, const MaskCandidates& masks, const Tokenizer& tokenizer) {
  for (size_t place = 0; place < masks.size(); ++place)
    for (const WordCandidate& word : masks[place])
      print("{}\t{}\t{}\t{:.4f}\n", line, place + 1, printable(tokenizer.token_of(word.id).value_or("")),
            word.probability);
}

}  // namespace

void fill(const FillFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  Model model = load_model(folder);
  check(predicts_masked_words(model),
        "{} is a {} model that predicts no masked words; fill takes BertForMaskedLM and its like of RoBERTa, "
        "DistilBERT, MPNet, ELECTRA, DeBERTa and ModernBERT",
        flags.model, model.family);
  const TokenizerFiles files = TokenizerFiles::load(folder);
  const Tokenizer tokenizer = files.tokenizer();
  const int32_t mask = mask_id(tokenizer, files.name());
  const std::vector<std::string> lines = lines_argument(flags.text);
  TokenTexts texts;
  for (size_t i = 0; i < lines.size(); ++i)
    add_masked_text(texts, lines[i], tokenizer, mask, model, fmt::format("line {}", i + 1));
  const TextInputs inputs = text_inputs(model, texts.largest_segment());
  store_weights_as(model, folder, flags.dtype);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  MaskedWords words(*backend, model, load_store(*backend, model, weights, flags.common.quiet),
                    backend->make_workspace());
  TextsProgress progress(std::ssize(lines), "lines", flags.common.quiet);
  std::vector<MaskCandidates> results(lines.size());
  fill_by_length(words, texts, inputs, flags.batch_tokens, mask, static_cast<size_t>(std::max<int64_t>(flags.top, 1)),
                 [&](size_t text, const MaskCandidates& candidates) {
                   results[text] = candidates;
                   progress.add();
                 });
  progress.clear();
  for (size_t i = 0; i < lines.size(); ++i) {
    const MaskCandidates& masks = results[i];
    const FilledText best(tokenizer, lines[i], mask, masks);
    if (flags.common.json)
      print("{}\n", best.json().dump());
    else if (flags.top > 0)
      print_candidates(i + 1, masks, tokenizer);
    else
      print("{}\n", best.text());
  }
  report_profile(*backend, flags.common, words.programs());
  progress.end(lines.size(), "line");
}

}  // namespace vkformer
