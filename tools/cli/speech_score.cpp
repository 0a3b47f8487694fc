#include "tools/cli/speech_score.h"

#include <algorithm>

#include "models/audio/audio_file.h"
#include "models/score/labels.h"
#include "models/score/word_errors.h"
#include "models/transcription/transcript_text.h"
#include "runtime/files/utf8.h"
#include "tools/cli/end_signals.h"

namespace vkformer {

SpeechScorer::SpeechScorer(const Model& model, Tokenizer tokenizer, SpeechTokens tokens, const MelSettings& mel,
                           SpeechRows rows, size_t most)
    : model_(model),
      tokenizer_(std::move(tokenizer)),
      tokens_(std::move(tokens)),
      mel_(mel),
      rows_(std::move(rows)),
      most_(most) {}

JobScores SpeechScorer::score(Backend& backend, Trainer& trainer, bool whole_split) const {
  const size_t all = rows_.recordings.size(), count = whole_split ? all : std::min(most_, all);
  std::vector<std::string> references, hypotheses;
  Transcriber transcriber(backend, model_, trainer.shared_store(), tokenizer_, tokens_, mel_,
                          TranscribeSettings{.beams = 1, .temperatures = {}});
  for (size_t i = 0; i < count; ++i) {
    interrupt_if_asked();
    const size_t row = i * all / count;
    std::string text;
    transcriber.transcribe(read_audio(rows_.recordings[row], mel_.rate),
                           {.language = rows_.languages[row], .times = false},
                           [&](const SpeechSegment& segment) { text += one_line(segment.text); });
    references.push_back(one_line(rows_.texts[row]));
    hypotheses.push_back(std::move(text));
  }
  const WordErrors errors = count_word_errors(references, hypotheses);
  const double exact = static_cast<double>(count_equal_lines(references, hypotheses)) / static_cast<double>(count);
  JobScores result{
      .values = {{"wer", errors.rate()}, {"word_accuracy", 1 - errors.rate()}, {"exact_match", exact}},
      .notes = nlohmann::json::object(),
      .text = fmt::format("  word error rate {:.2f} % ({} words: {} others, {} missing, {} too many), exact "
                          "match {:.1f} %\n",
                          100 * errors.rate(), errors.words, errors.substitutions, errors.deletions, errors.insertions,
                          100 * exact)};
  constexpr size_t shown = 3;
  for (size_t i = 0; i < count; ++i) {
    if (i * shown / count == (i + 1) * shown / count) continue;
    result.notes["samples"].push_back({{"source", rows_.recordings[i * all / count].filename().generic_string()},
                                       {"reference", references[i]},
                                       {"hypothesis", hypotheses[i]}});
    result.text += fmt::format("  {}\n    -> {}\n", printable(references[i]), printable(hypotheses[i]));
  }
  return result;
}

}  // namespace vkformer
