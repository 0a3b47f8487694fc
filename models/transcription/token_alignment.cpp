#include "models/transcription/token_alignment.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace vkformer {

TokenAlignment TokenAligner::align(std::span<const int32_t> ids) {
  // What pads them behind changes nothing before.
  constexpr size_t fewest = 16;
  const int64_t positions = std::min(static_cast<int64_t>(std::bit_ceil(std::max(ids.size(), fewest))), model_.context);
  auto& program = programs_[positions];
  if (!program) program = generator_.compile(build_alignment(model_, generator_.shape(), positions, heads_, text_end_));
  std::vector<int32_t> padded(ids.begin(), ids.end()), own;
  padded.resize(static_cast<size_t>(positions), 0);
  for (size_t i = 0; i < padded.size(); ++i) {
    const int32_t next = i + 1 < padded.size() && padded[i + 1] < text_end_ ? padded[i + 1] : 0;
    own.push_back(static_cast<int32_t>(i) * text_end_ + next);
  }
  write_feed(*program, {{"ids", padded}, {"own", own}});
  program->run();
  const std::vector<float> logits = program->read("own_logits"), sums = program->read("log_sum_exp");
  TokenAlignment alignment{
      .weights = {.tokens = ids.size(), .positions = static_cast<size_t>(generator_.shape().source_positions)}};
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    alignment.probabilities.push_back(std::exp(static_cast<double>(logits[i]) - static_cast<double>(sums[i])));
  for (const CrossHead& head : heads_) {
    std::vector<float> weights = program->read(head_output(head));
    weights.resize(alignment.weights.tokens * alignment.weights.positions);
    check_results(weights, alignment.weights.positions);
    alignment.weights.heads.push_back(std::move(weights));
  }
  return alignment;
}

}  // namespace vkformer
