// `vkformer fill`: the words that belong where masks stand.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/filling/masked_words.h"
#include "models/text/tokenizer.h"
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

/// Lines as ids; every one has a mask and fits.
TokenTexts encode_to_fill(const std::vector<std::string>& lines, const Tokenizer& tokenizer, int32_t mask,
                          const Model& model) {
  const std::string_view token = *tokenizer.token_of(mask);
  TokenTexts texts;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string place = fmt::format("line {}", i + 1);
    texts.add(tokenizer, lines[i], {}, model.context, place);
    check(texts.cut == 0, "{} has more tokens than the model's {}; shorten it", place, model.context);
    check(std::ranges::count(texts.ids.back(), mask) > 0, "{} has no {}; write {} where a word is to be found", place,
          token, token);
  }
  return texts;
}

/// A line with its masks filled.
class FilledLine {
 public:
  FilledLine(const Tokenizer& tokenizer, const std::string& line, int32_t mask)
      : tokenizer_(tokenizer), ids_(tokenizer.encode(line, false).ids) {
    for (size_t i = 0; i < ids_.size(); ++i)
      if (ids_[i] == mask) places_.push_back(i);
  }
  void put(size_t place, int32_t id) { ids_[places_[place]] = id; }
  /// Also with unknown words and the like.
  std::string text() const { return tokenizer_.decode(ids_, false); }

 private:
  const Tokenizer& tokenizer_;
  std::vector<int32_t> ids_;
  std::vector<size_t> places_;
};

nlohmann::json filled_json(const std::string& line, const MaskCandidates& masks, const Tokenizer& tokenizer,
                           const FilledLine& best) {
  nlohmann::json json = {{"text", line}, {"filled", best.text()}};
  for (size_t place = 0; place < masks.size(); ++place) {
    auto candidates = nlohmann::json::array();
    for (const WordCandidate& word : masks[place]) {
      FilledLine filled = best;
      filled.put(place, word.id);
      candidates.push_back({{"token", tokenizer.token_of(word.id).value_or("")},
                            {"id", word.id},
                            {"probability", word.probability},
                            {"filled", filled.text()}});
    }
    json["masks"].push_back(std::move(candidates));
  }
  return json;
}

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
  const TokenTexts texts = encode_to_fill(lines, tokenizer, mask, model);
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
    FilledLine best(tokenizer, lines[i], mask);
    for (size_t place = 0; place < masks.size(); ++place) best.put(place, masks[place].front().id);
    if (flags.common.json)
      print("{}\n", filled_json(lines[i], masks, tokenizer, best).dump());
    else if (flags.top > 0)
      print_candidates(i + 1, masks, tokenizer);
    else
      print("{}\n", best.text());
  }
  report_profile(*backend, flags.common, words.programs());
  progress.end(lines.size(), "line");
}

}  // namespace vkformer
