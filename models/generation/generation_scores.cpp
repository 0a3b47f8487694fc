// What a Generator tells of each token of a text: probabilities, and all logits.

#include <algorithm>
#include <cmath>

#include "models/generation/generation.h"
#include "runtime/check.h"

namespace vkformer {

Program& Generator::scoring_program(const Scoring& scoring, const RunShape& run) {
  auto& program = scoring_[{scoring, run}];
  if (!program)
    program = backend_.compile(build_scoring(model_, shape_, run, scoring, &backend_.facts()), store_, {}, workspace_);
  last_prefill_ = program.get();
  return *program;
}

namespace {

/// Calls `take` for each part of so many rows.
void for_parts(size_t rows, const std::function<void(int64_t part, size_t first, size_t size)>& take) {
  constexpr auto most = static_cast<size_t>(scoring_rows);
  for (size_t first = 0; first < rows; first += most)
    take(static_cast<int64_t>(first / most), first, std::min(most, rows - first));
}

}  // namespace

TokenScores Generator::score(std::span<const int32_t> tokens, std::span<const int32_t> next, int64_t likeliest) {
  check(!shape_.left_padded && tokens.size() == next.size() && tokens.size() % static_cast<size_t>(shape_.rows) == 0,
        "{} tokens can't be followed by {} in {} rows", tokens.size(), next.size(), shape_.rows);
  check_tokens(next);
  const auto rows = static_cast<size_t>(shape_.rows), length = tokens.size() / rows;
  const auto k = static_cast<size_t>(std::min(likeliest, model_.vocabulary));
  TokenScores scores{std::vector<double>(tokens.size()), std::vector<int32_t>(k * tokens.size()),
                     std::vector<double>(k * tokens.size())};
  for_pieces(tokens, [&](const RunShape& shape, std::span<const int32_t> piece, size_t begin) {
    Program& program = scoring_program({.likeliest = likeliest}, shape);
    write_inputs(program, shape, piece);
    const size_t count = piece.size() / rows, stride = static_cast<size_t>(shape.positions);
    std::vector<int32_t> followers(rows * stride, 0);
    for (size_t r = 0; r < rows; ++r)
      std::ranges::copy(next.subspan(r * length + begin, count), &followers[r * stride]);
    for_parts(rows * stride, [&](int64_t part, size_t first, size_t size) {
      std::vector<int32_t> own;
      for (size_t i = 0; i < size; ++i)
        own.push_back(static_cast<int32_t>(static_cast<int64_t>(i) * model_.vocabulary) + followers[first + i]);
      program.write(scoring_part("own", part), own);
    });
    position_ += static_cast<int64_t>(count);
    program.run();
    for_parts(rows * stride, [&](int64_t part, size_t first, size_t size) {
      const auto read = [&](const char* name) { return program.read(scoring_part(name, part)); };
      const std::vector<float> log_sums = read("log_sum_exp"), own = read("own_logits");
      const auto logits = k > 0 ? read("likeliest_logits") : std::vector<float>();
      const auto ids = k > 0 ? program.read_ints(scoring_part("likeliest", part)) : std::vector<int32_t>();
      for (size_t i = 0; i < size; ++i) {
        const size_t row = (first + i) / stride, at = (first + i) % stride;
        if (at >= count) continue;  // padding
        const size_t token = row * length + begin + at;
        const auto log_probability = [&](float logit) {
          return static_cast<double>(logit) - static_cast<double>(log_sums[i]);
        };
        scores.log_probabilities[token] = log_probability(own[i]);
        check(!std::isnan(scores.log_probabilities[token]),
              "the model's probabilities are no numbers; its weights may be damaged");
        for (size_t j = 0; j < k; ++j) {
          scores.likeliest[token * k + j] = ids[i * k + j];
          scores.likeliest_log_probabilities[token * k + j] = log_probability(logits[i * k + j]);
        }
      }
    });
  });
  return scores;
}

void Generator::visit_logits(std::span<const int32_t> tokens,
                             const std::function<void(size_t token, std::span<const float> logits)>& take) {
  const auto rows = static_cast<size_t>(shape_.rows), length = tokens.size() / rows;
  const auto columns = static_cast<size_t>(model_.vocabulary);
  check(!shape_.left_padded && tokens.size() % rows == 0, "{} tokens don't make {} rows of one length", tokens.size(),
        rows);
  for_pieces(tokens, [&](const RunShape& shape, std::span<const int32_t> piece, size_t begin) {
    Program& program = scoring_program({.all_logits = true}, shape);
    write_inputs(program, shape, piece);
    const size_t count = piece.size() / rows, stride = static_cast<size_t>(shape.positions);
    position_ += static_cast<int64_t>(count);
    program.run();
    for_parts(rows * stride, [&](int64_t part, size_t first, size_t size) {
      const std::vector<float> logits = program.read(scoring_part("logits", part));
      for (size_t i = 0; i < size; ++i) {
        const size_t row = (first + i) / stride, at = (first + i) % stride;
        if (at < count) take(row * length + begin + at, std::span(logits).subspan(i * columns, columns));
      }
    });
  });
}

}  // namespace vkformer
