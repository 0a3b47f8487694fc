#include "models/generation/logits_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "runtime/check.h"

namespace vkformer {
namespace {

constexpr double never = -std::numeric_limits<double>::infinity();

/// Leaves scores alone where everything is banned.
void renormalize(std::span<double> scores) {
  const double largest = *std::max_element(scores.begin(), scores.end());
  if (!std::isfinite(largest)) return;
  double sum = 0;
  for (double score : scores) sum += std::exp(score - largest);
  for (double& score : scores) score -= largest + std::log(sum);
}

void check_ids(std::string_view key, std::span<const int32_t> ids, int64_t vocabulary) {
  for (int32_t id : ids)
    check(id >= 0 && id < vocabulary, "{}: token {} is outside the vocabulary of {}", key, id, vocabulary);
}

}  // namespace

LogitsRules::LogitsRules(const GenerationConfig& config, int64_t prompt_length, int64_t vocabulary)
    : config_(config),
      prompt_length_(prompt_length),
      most_(config.most_new_tokens(prompt_length)),
      least_(config.least_new_tokens(prompt_length)),
      usable_(vocabulary) {
  for (auto* ids : {&config_.eos_token_ids, &config_.suppress_tokens, &config_.begin_suppress_tokens})
    std::erase_if(*ids, [&](int32_t id) { return id < 0 || id >= vocabulary; });
  std::vector<int32_t>& suppressed = config_.suppress_tokens;
  std::ranges::sort(suppressed);
  suppressed.erase(std::unique(suppressed.begin(), suppressed.end()), suppressed.end());
  for (auto last = suppressed.rbegin(); last != suppressed.rend() && *last == usable_ - 1; ++last) --usable_;
  std::erase_if(config_.bad_words_ids,
                [&](const std::vector<int32_t>& word) { return word.size() == 1 && config.ends(word[0]); });
  for (const auto& word : config_.bad_words_ids) {
    check(!word.empty(), "bad_words_ids: an empty list bans nothing; remove it");
    check_ids("bad_words_ids", word, vocabulary);
  }
  for (const auto& [id, bias] : config_.logit_bias) check_ids("logit bias", {&id, 1}, vocabulary);
  if (config_.forced_bos_token_id) check_ids("forced_bos_token_id", {&*config_.forced_bos_token_id, 1}, vocabulary);
  check_ids("forced_eos_token_id", config_.forced_eos_token_ids, vocabulary);
}

std::optional<int64_t> LogitsRules::most_banned() const {
  const GenerationConfig& c = config_;
  if (usable_ == 0 || !c.logit_bias.empty() || !c.recent_penalties.none() || c.repetition_penalty != 1 ||
      c.renormalize_logits || c.constraint)
    return std::nullopt;
  const auto suppressed = std::ranges::count_if(c.suppress_tokens, [&](int32_t id) { return id < usable_; });
  return suppressed + std::ssize(c.begin_suppress_tokens) + std::ssize(c.bad_words_ids) +
         (least_ > 0 ? std::ssize(c.eos_token_ids) : 0) + (c.no_repeat_ngram_size > 0 ? prompt_length_ + most_ : 0);
}

bool LogitsRules::none() const {
  return most_banned() == 0 && !config_.forced_bos_token_id && config_.forced_eos_token_ids.empty();
}

std::span<const int32_t> LogitsRules::forced(int64_t generated, int64_t most) const {
  if (!config_.forced_eos_token_ids.empty() && generated == (most > 0 ? most : most_) - 1)
    return config_.forced_eos_token_ids;
  if (forces_first() && generated == 0) return {&*config_.forced_bos_token_id, 1};
  return {};
}

std::vector<int32_t> LogitsRules::banned(std::span<const int32_t> ids, int64_t generated, int64_t most) const {
  std::vector<int32_t> list = config_.suppress_tokens;
  const auto add = [&](const std::vector<int32_t>& more) { list.insert(list.end(), more.begin(), more.end()); };
  if (generated == (forces_first() ? 1 : 0)) add(config_.begin_suppress_tokens);
  if (!forced(generated, most).empty()) return list;
  if (config_.no_repeat_ngram_size > 0) add_repeated_ngrams(ids, list);
  add_bad_words(ids, list);
  if (generated < least_) add(config_.eos_token_ids);
  return list;
}

void LogitsRules::apply(std::span<const int32_t> ids, int64_t generated, std::span<double> scores, int64_t most) const {
  for (const auto& [id, bias] : config_.logit_bias) scores[static_cast<size_t>(id)] += bias;
  if (!config_.recent_penalties.none()) penalize_recent(ids, scores);
  if (config_.repetition_penalty != 1) penalize_repetition(ids, scores);
  if (const auto only = forced(generated, most); !only.empty()) {
    std::ranges::fill(scores, never);
    for (const int32_t id : only) scores[static_cast<size_t>(id)] = 0;
  }
  for (const int32_t id : banned(ids, generated, most)) scores[static_cast<size_t>(id)] = never;
  if (config_.constraint && forced(generated, most).empty())
    config_.constraint->restrict_scores(constrained(ids, generated), scores);
  if (config_.renormalize_logits) renormalize(scores);
}

void LogitsRules::apply(std::span<const int32_t> ids, int64_t generated, ScoredTokens& likeliest, int64_t most) const {
  if (const auto only = forced(generated, most); !only.empty()) {
    likeliest.tokens.assign(only.begin(), only.end());
    std::ranges::sort(likeliest.tokens);  // scores are equal, where the lower id goes first
    likeliest.tokens.erase(std::unique(likeliest.tokens.begin(), likeliest.tokens.end()), likeliest.tokens.end());
    likeliest.scores.assign(likeliest.tokens.size(), 0);
  }
  const std::vector<int32_t> out = banned(ids, generated, most);
  size_t kept = 0;
  for (size_t i = 0; i < likeliest.tokens.size(); ++i) {
    if (std::ranges::find(out, likeliest.tokens[i]) != out.end()) continue;
    likeliest.tokens[kept] = likeliest.tokens[i];
    likeliest.scores[kept++] = likeliest.scores[i];
  }
  likeliest.tokens.resize(kept);
  likeliest.scores.resize(kept);
}

std::span<const int32_t> LogitsRules::constrained(std::span<const int32_t> ids, int64_t generated) const {
  return ids.last(static_cast<size_t>(generated - (forces_first() && generated > 0 ? 1 : 0)));
}

bool LogitsRules::is_whole(std::span<const int32_t> ids, int64_t generated) const {
  return !config_.constraint || config_.constraint->is_whole(constrained(ids, generated));
}

void LogitsRules::penalize_recent(std::span<const int32_t> ids, std::span<double> scores) const {
  const RecentPenalties& penalties = config_.recent_penalties;
  if (penalties.last >= 0) ids = ids.last(std::min(static_cast<size_t>(penalties.last), ids.size()));
  std::map<int32_t, int64_t> counts;
  for (const int32_t id : ids) ++counts[id];
  for (const auto& [id, count] : counts) {
    double& score = scores[static_cast<size_t>(id)];
    score = score <= 0 ? score * penalties.repeat : score / penalties.repeat;
    score -= static_cast<double>(count) * penalties.frequency + penalties.presence;
  }
}

void LogitsRules::penalize_repetition(std::span<const int32_t> ids, std::span<double> scores) const {
  std::vector<int32_t> different(ids.begin(), ids.end());
  std::sort(different.begin(), different.end());
  different.erase(std::unique(different.begin(), different.end()), different.end());
  for (int32_t id : different) {
    double& score = scores[static_cast<size_t>(id)];
    score = score < 0 ? score * config_.repetition_penalty : score / config_.repetition_penalty;
  }
}

void LogitsRules::add_repeated_ngrams(std::span<const int32_t> ids, std::vector<int32_t>& banned) const {
  const auto n = static_cast<size_t>(config_.no_repeat_ngram_size);
  if (ids.size() < n) return;
  const auto prefix = ids.last(n - 1);
  for (size_t start = 0; start + n <= ids.size(); ++start)
    if (std::equal(prefix.begin(), prefix.end(), ids.begin() + static_cast<std::ptrdiff_t>(start)))
      banned.push_back(ids[start + n - 1]);
}

void LogitsRules::add_bad_words(std::span<const int32_t> ids, std::vector<int32_t>& banned) const {
  for (const auto& word : config_.bad_words_ids) {
    if (word.size() > 1 && word.size() > ids.size()) continue;
    const auto before = ids.last(word.size() - 1);
    if (std::equal(before.begin(), before.end(), word.begin())) banned.push_back(word.back());
  }
}

}  // namespace vkformer
