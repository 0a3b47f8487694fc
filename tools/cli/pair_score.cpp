#include "tools/cli/pair_score.h"

#include <algorithm>

#include "models/generation/search_by_length.h"
#include "models/score/bleu.h"
#include "models/score/chrf.h"
#include "models/score/labels.h"
#include "runtime/files/utf8.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

PairScorer::PairScorer(const Model& model, Tokenizer source, Tokenizer target, TextPairs pairs, const Ids& ids,
                       size_t most)
    : model_(model),
      source_(std::move(source)),
      target_(std::move(target)),
      pairs_(std::move(pairs)),
      ids_(ids),
      most_(most) {}

std::vector<std::string> PairScorer::translate(Backend& backend, Trainer& trainer,
                                               std::span<const std::string> sources) const {
  ProcessGroup& group = trainer.group();  // consecutive lines for each of it
  const size_t size = static_cast<size_t>(group.size()), rank = static_cast<size_t>(group.rank());
  const size_t begin = sources.size() * rank / size;
  sources = sources.subspan(begin, sources.size() * (rank + 1) / size - begin);
  std::vector<std::vector<int32_t>> ids;
  for (const std::string& source : sources) {
    ids.push_back(source_.encode(source).ids);
    if (ids.back().empty()) ids.back().push_back(ids_.end);
  }
  SearchByLength search;
  search.config.eos_token_ids = {ids_.end};
  search.config.decoder_start_token_id = ids_.decoder_start;
  search.config.forced_bos_token_id = ids_.forced_first;
  std::vector<std::string> translations(ids.size());
  group.together([&] {
    search.run(backend, model_, trainer.shared_store(), ids, [&](size_t source, std::vector<Hypothesis> best) {
      interrupt_if_asked();
      translations[source] = target_.decode(best.front().ids);
    });
  });
  return group.gather(translations);
}

JobScores PairScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  const size_t count = whole_split ? pairs_.size() : std::min(most_, pairs_.size());
  std::vector<std::string> sources, references;
  for (size_t i = 0; i < count; ++i) {
    const size_t line = i * pairs_.size() / count;
    sources.push_back(pairs_.sources[line]);
    references.push_back(pairs_.targets[line]);
  }
  const std::vector<std::string> hypotheses = translate(backend, trainer, sources);
  const BleuScore bleu = score_bleu(references, hypotheses);
  const ChrfScore chrf = score_chrf(references, hypotheses);
  const double exact = static_cast<double>(count_equal_lines(references, hypotheses)) / static_cast<double>(count);
  JobScores result{.values = {{"bleu", bleu.score}, {"chrf", chrf.score}, {"exact_match", exact}},
                   .notes = {{"bleu_signature", bleu.signature}},
                   .text = fmt::format("  {}{}  {}\n  {}, exact match {:.1f} %\n", bleu.to_string(), bleu.remark(),
                                       bleu.signature, chrf.to_string(), 100 * exact)};
  constexpr size_t shown = 3;
  for (size_t i = 0; i < count; ++i) {
    if (i * shown / count == (i + 1) * shown / count) continue;
    result.notes["samples"].push_back(
        {{"source", sources[i]}, {"reference", references[i]}, {"hypothesis", hypotheses[i]}});
    result.text += fmt::format("  {}\n    -> {}\n", printable(sources[i]), printable(hypotheses[i]));
  }
  return result;
}

}  // namespace vkformer
