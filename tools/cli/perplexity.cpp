// `vkformer perplexity`: how well a model predicts a text, and how far its predictions are from another's.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "models/generation/text_likelihood.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_memory.h"
#include "tools/cli/host_weights.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/text_argument.h"

namespace vkformer {

namespace {

/// A model on the device, which stays where it is.
struct Subject {
  std::string name;  ///< for people
  std::filesystem::path folder;
  std::unique_ptr<AdapterFiles> adapter;
  Model model;
  std::unique_ptr<Generator> generator = nullptr;

  void load(Backend& backend, const GeneratorShape& shape, bool quiet) {
    const Weights weights(model.parameters, folder);
    make_room(model, shape, backend, scoring_rows * model.vocabulary * size_of(DType::f32));
    check_fits(model, folder, shape, backend);
    generator = std::make_unique<Generator>(backend, model, shape);
    load_weights(weights, model, adapter.get(), generator->store(), quiet);
  }
};

Subject subject_of(const PerplexityFlags& flags) {
  const auto folder = resolve_model_folder(flags.model);
  auto adapter = open_adapter(flags.adapter, folder);
  Model model = model_to_generate(folder, flags.dtype, adapter.get());
  check(model.generates(), "{} is a {} model, which writes no text; give a decoder", flags.model, model.family);
  check(!model.has_encoder(), "{} is an encoder-decoder ({}): what it writes depends on a source; give a decoder",
        flags.model, model.family);
  return {fmt::format("{} ({})", flags.model, weights_text(folder, flags.dtype)), folder, std::move(adapter),
          std::move(model)};
}

/// What it is compared with: the same model and adapter in another type, or another model.
std::optional<Subject> other_of(const PerplexityFlags& flags, const Model& own) {
  if (flags.against.empty() && flags.against_dtype.empty()) return std::nullopt;
  PerplexityFlags other = flags;
  other.dtype = flags.against_dtype;
  if (!flags.against.empty()) {
    other.model = flags.against;
    other.adapter = "";
  }
  Subject subject = subject_of(other);
  check(subject.model.vocabulary == own.vocabulary,
        "the models have vocabularies of {} and {} tokens; predictions are compared over one vocabulary",
        own.vocabulary, subject.model.vocabulary);
  return subject;
}

/// The special tokens that a tokenizer puts in front of a text.
std::vector<int32_t> beginning_of(const PromptText& tokenizer) {
  if (!tokenizer.tokenizer()) return {};  // of characters or bytes
  const std::vector<int32_t> plain = tokenizer.encode_line("a", false).ids;
  std::vector<int32_t> around = tokenizer.encode_line("a", true).ids;
  const auto found = std::ranges::search(around, plain);
  check(!plain.empty() && !found.empty(), "the tokenizer does not tell what it puts in front of a text");
  around.erase(found.begin(), around.end());
  return around;
}

/// Throws Error where the two have no room beside each other.
void check_both_fit(const Subject& own, const Subject& other, const GeneratorShape& shape, const DeviceFacts& facts) {
  const int64_t needed = generator_bytes(own.model, shape, facts) + generator_bytes(other.model, shape, facts);
  check(facts.memory_total == 0 || static_cast<uint64_t>(needed) <= facts.memory_free,
        "{} and {} need {} for weights and caches, {} has {} free; use smaller types", own.name, other.name,
        size_text(needed), facts.name, size_text(static_cast<int64_t>(facts.memory_free)));
}

nlohmann::json json_of(const std::vector<double>& log_probabilities, double bytes) {
  MeanOf loss = mean_of(log_probabilities);
  loss.mean = -loss.mean;
  const double perplexity = std::exp(loss.mean);
  return {{"loss", loss.mean},
          {"perplexity", perplexity},
          {"perplexity_error", perplexity * loss.error},
          {"bits_per_byte", loss.mean * static_cast<double>(log_probabilities.size()) / bytes / std::numbers::ln2}};
}

std::string text_of(const nlohmann::json& json) {
  return fmt::format("perplexity {:.4f} +- {:.4f}, {:.4f} nats a token, {:.4f} bits a byte",
                     json["perplexity"].get<double>(), json["perplexity_error"].get<double>(),
                     json["loss"].get<double>(), json["bits_per_byte"].get<double>());
}

nlohmann::json json_of(const Comparison& comparison) {
  std::vector<double> differences;
  for (size_t i = 0; i < comparison.own.size(); ++i) differences.push_back(comparison.other[i] - comparison.own[i]);
  const MeanOf difference = mean_of(differences), divergence = mean_of(comparison.kullback_leibler);
  std::vector<double> sorted = comparison.kullback_leibler;
  std::ranges::sort(sorted);
  const auto quantile = [&](double share) {
    return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  const double ratio = std::exp(difference.mean);
  return {{"perplexity_ratio", ratio},
          {"perplexity_ratio_error", ratio * difference.error},
          {"kl_divergence", divergence.mean},
          {"kl_divergence_error", divergence.error},
          {"kl_divergence_median", quantile(0.5)},
          {"kl_divergence_99", quantile(0.99)},
          {"kl_divergence_largest", sorted.back()},
          {"same_likeliest", mean_of(comparison.same_likeliest).mean}};
}

std::string text_of_comparison(const nlohmann::json& json) {
  const auto number = [&](const char* key) { return json[key].get<double>(); };
  return fmt::format(
      "ratio of the perplexities {:.5f} +- {:.5f}; the same likeliest token {:.2f} %\n"
      "KL divergence {:.4g} +- {:.2g}, median {:.4g}, of one token in a hundred above {:.4g}, largest {:.4g}\n",
      number("perplexity_ratio"), number("perplexity_ratio_error"), 100 * number("same_likeliest"),
      number("kl_divergence"), number("kl_divergence_error"), number("kl_divergence_median"),
      number("kl_divergence_99"), number("kl_divergence_largest"));
}

}  // namespace

void perplexity(const PerplexityFlags& flags) {
  Subject own = subject_of(flags);
  std::optional<Subject> other = other_of(flags, own.model);
  const PromptText tokenizer(own.folder);
  const std::string text = text_argument(flags.text.value_or("-"), flags.file);
  const auto ids_by = [&](const PromptText& its) {
    std::vector<int32_t> all = its.encode_line(text, false).ids;
    if (flags.tokens > 0 && std::ssize(all) > flags.tokens) all.resize(static_cast<size_t>(flags.tokens));
    return all;
  };
  const std::vector<int32_t> ids = ids_by(tokenizer);
  check(flags.against.empty() || ids_by(PromptText(other->folder)) == ids,
        "{} makes other tokens of the text than {}; predictions are compared token by token", flags.against,
        flags.model);
  TextWindowing windowing{.begin = beginning_of(tokenizer)};
  const auto context_of = [](const Model& model) { return model.context > 0 ? model.context : int64_t{1} << 31; };
  const int64_t most = std::min(context_of(own.model), context_of(other ? other->model : own.model));
  check(flags.context <= most, "the model has {} positions, fewer than --context {}", most, flags.context);
  windowing.positions = flags.context > 0 ? flags.context : std::min<int64_t>(most, 2048);
  windowing.shared = flags.shared.value_or(windowing.positions / 2);
  const std::vector<TextWindow> windows = text_windows(ids.size(), windowing);
  check(!windows.empty(), "the text has {}; it needs one that has another before it",
        counted(std::ssize(ids), "token"));

  auto backend = open_backend(flags.common);
  const int64_t longest = std::ssize(window_ids(ids, windows.front(), windowing.begin));
  GeneratorShape shape{.capacity = longest, .cache_type = cache_type(flags.cache_dtype)};
  if (other)  // whose logits all come to the host
    shape.run_positions = scoring_rows;
  else
    shape.rows = std::clamp<int64_t>(flags.batch_tokens / longest, 1, std::ssize(windows));
  shape.sources = shape.rows;
  if (other) check_both_fit(own, *other, shape, backend->facts());
  tell_fallbacks(own.model, flags.dtype, flags.common.quiet);
  if (other) tell_fallbacks(other->model, flags.against_dtype, flags.common.quiet);
  own.load(*backend, shape, flags.common.quiet);
  if (other) other->load(*backend, shape, flags.common.quiet);

  Progress bar(std::ssize(windows), flags.common.quiet);
  const auto show = [&](size_t done) { bar.show(static_cast<int64_t>(done), "windows"); };
  Comparison comparison;
  if (other)
    comparison = compare_predictions(*own.generator, *other->generator, ids, windows, windowing.begin, show);
  else
    comparison.own = text_log_probabilities(*own.generator, ids, windows, windowing.begin, show);
  bar.clear();

  const std::span scored = std::span(ids).last(comparison.own.size());
  const auto bytes = static_cast<double>(tokenizer.decode_all(scored).size());
  nlohmann::json json = json_of(comparison.own, bytes);
  json.update({{"name", own.name},
               {"tokens", scored.size()},
               {"windows", windows.size()},
               {"context", windowing.positions},
               {"shared", windowing.shared}});
  if (other) {
    json["against"] = json_of(comparison.other, bytes);
    json["against"]["name"] = other->name;
    json["against"].update(json_of(comparison));
  }
  if (flags.common.json) {
    print("{}\n", json.dump(1));
  } else {
    if (other) print("{}: ", own.name);
    print("{}\n", text_of(json));
    if (other) print("{}: {}\n{}", other->name, text_of(json["against"]), text_of_comparison(json["against"]));
  }
  if (!flags.common.quiet)
    say("{} in {} of {} positions{}", counted(std::ssize(scored), "token"), counted(std::ssize(windows), "window"),
        windowing.positions,
        windows.size() > 1 ? fmt::format(", {} of them shared with the one before", windowing.shared) : "");
  report_profile(*backend, flags.common, *own.generator);
}

}  // namespace vkformer
