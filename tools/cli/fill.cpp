// `vkformer fill`: the words that belong where masks stand.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/data/masked.h"
#include "models/families/registry.h"
#include "models/filling/filled_text.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/line_pieces.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
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
  const auto adapter = open_adapter(flags.adapter, folder);
  const Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(predicts_masked_words(model),
        "{} is a {} model that predicts no masked words; fill takes BertForMaskedLM and its like of RoBERTa, "
        "DistilBERT, MPNet, ELECTRA, DeBERTa and ModernBERT",
        flags.model, model.family);
  const TokenizerFiles files = TokenizerFiles::load(tokenizer_folder(folder, adapter.get()));
  const Tokenizer tokenizer = files.tokenizer();
  const int32_t mask = mask_id(tokenizer, files.name());
  const auto add = [&](TextsPiece& piece, const std::string& line, const std::string& place) {
    add_masked_text(piece.tokens, line, tokenizer, mask, model, place);
    piece.lines.push_back(line);
  };
  LinePieces<TextsPiece> pieces(LineInput::of(flags.text), flags.batch_tokens, add);
  const Weights weights(model.parameters, folder);
  auto backend = open_backend(flags.common);
  MaskedWords words(*backend, model, load_store(*backend, model, weights, flags.common.quiet, adapter.get()),
                    backend->make_workspace());
  TextsProgress progress("lines", flags.common.quiet);
  pieces.answer_each(progress, "line", [&](const TextsPiece& piece) {
    std::vector<MaskCandidates> results(piece.lines.size());
    fill_by_length(words, piece.tokens, pieces.inputs(model), flags.batch_tokens, mask,
                   static_cast<size_t>(std::max<int64_t>(flags.top, 1)),
                   [&](size_t text, const MaskCandidates& candidates) {
                     results[text] = candidates;
                     progress.add();
                     interrupt_if_asked();
                   });
    progress.clear();
    for (size_t i = 0; i < piece.lines.size(); ++i) {
      const FilledText best(tokenizer, piece.lines[i], mask, results[i]);
      if (flags.common.json)
        print("{}\n", best.json().dump());
      else if (flags.top > 0)
        print_candidates(pieces.written() + i + 1, results[i], tokenizer);
      else
        print("{}\n", best.text());
    }
  });
  report_profile(*backend, flags.common, words.programs());
  progress.end(pieces.written(), "line");
}

}  // namespace vkformer
