// `vkformer attention`: which words look at which, as a page.

#include <nlohmann/json.hpp>

#include "models/families/registry.h"
#include "models/generation/search_by_length.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/attention_page.h"
#include "tools/cli/busy_watch.h"
#include "tools/cli/commands.h"
#include "tools/cli/generation_settings.h"
#include "tools/cli/model_folder.h"
#include "tools/cli/output.h"
#include "tools/cli/page.h"

namespace vkformer {

namespace {

class AttentionRun {
 public:
  explicit AttentionRun(const AttentionFlags& flags)
      : flags_(flags),
        folder_(resolve_model_folder(flags.model)),
        model_(load_model(folder_)),
        tokenizer_(folder_),
        weights_(model_.parameters, folder_) {
    check_reads_text(model_, flags.model);
  }

  void write() {
    const std::unique_ptr<Backend> backend = open_backend(flags_.common);
    const auto weights = load_store(*backend, model_, weights_, flags_.common.quiet);
    if (model_.has_encoder())
      take_source(*backend, weights);
    else if (model_.task == Task::causal)
      take_prompt();
    else
      take_texts();
    const BusyWatch watch("the model is looking at the text", flags_.common.quiet);
    const auto maps = attention_maps(*backend, model_, weights, text_);
    check(!maps.empty(), "{} has no attention to look at", flags_.model);
    nlohmann::json data = attention_page_data(maps, {.source = pieces(tokenizer_, text_.source),
                                                     .read = pieces(tokenizer_.target(), text_.ids),
                                                     .written = pieces(tokenizer_.target(), written_)});
    data["model"] = std::filesystem::path(flags_.model).lexically_normal().generic_string();
    data["family"] = model_.family;
    data["device"] = backend->describe();
    data["source"] = flags_.text;
    if (!target_.empty()) data["target"] = target_;
    const std::string page = page_with("attention", data);
    write_file_atomically(flags_.out, page);
    if (!flags_.common.quiet)
      say("wrote {} ({:.2f} MB); open it in a browser", flags_.out, static_cast<double>(page.size()) / 1e6);
  }

 private:
  static std::vector<std::string> pieces(const PromptText& tokenizer, std::span<const int32_t> ids) {
    std::vector<std::string> texts;
    for (const int32_t id : ids) texts.push_back(tokenizer.piece(id));
    return texts;
  }

  /// An encoder-decoder: the target begins with the start id, and each position writes what the next one reads.
  void take_source(Backend& backend, const std::shared_ptr<Store>& weights) {
    text_.source = tokenizer_.encode(flags_.text);
    const GenerateFlags greedy{.common = flags_.common, .model = flags_.model, .given = {"--beams", "--return"}};
    GenerationConfig config = generation_settings(greedy, folder_, model_, &tokenizer_).config;
    config.do_sample = false;
    written_ =
        flags_.target.empty() ? translation(backend, weights, config) : tokenizer_.target().encode(flags_.target);
    // A target that was given ends, whether or not its tokenizer says so; one that grew too long does not.
    const bool ends = !config.eos_token_ids.empty() &&
                      (!flags_.target.empty() || (!written_.empty() && config.ends(written_.back())));
    while (!written_.empty() && config.ends(written_.back())) written_.pop_back();
    target_ = tokenizer_.target().decode(written_);
    text_.ids = {config.decoder_start()};
    text_.ids.insert(text_.ids.end(), written_.begin(), written_.end());
    if (ends)
      written_.push_back(config.eos_token_ids.front());
    else
      text_.ids.pop_back();  // nobody knows what follows the last one
    check(!text_.ids.empty(), "the model writes nothing for this text; give a --target");
  }

  std::vector<int32_t> translation(Backend& backend, const std::shared_ptr<Store>& weights,
                                   const GenerationConfig& config) {
    std::vector<int32_t> ids;
    SearchByLength{.config = config}.run(
        backend, model_, weights, {text_.source},
        [&](size_t, std::vector<Hypothesis> best) { ids = std::move(best.front().ids); });
    if (!ids.empty() && ids.front() == config.decoder_start()) ids.erase(ids.begin());
    return ids;
  }

  /// A decoder: one text, in which each position writes what the next one reads.
  void take_prompt() {
    target_ = flags_.target;
    text_.ids = tokenizer_.encode(flags_.text + flags_.target);
  }

  void take_texts() {
    target_ = flags_.target;
    if (flags_.target.empty()) {
      text_.ids = tokenizer_.encode(flags_.text);
      return;
    }
    Encoding pair = tokenizer_.encode_pair(flags_.text, flags_.target);
    text_.ids = std::move(pair.ids);
    if (model_.segments > 1) text_.segments = std::move(pair.type_ids);
  }

  const AttentionFlags& flags_;
  const std::filesystem::path folder_;
  const Model model_;
  const PromptText tokenizer_;
  const Weights weights_;
  InspectedText text_;
  std::vector<int32_t> written_;  ///< by each position of the ids; empty where that is not asked
  std::string target_;
};

}  // namespace

void attention_page(const AttentionFlags& flags) { AttentionRun(flags).write(); }

}  // namespace vkformer
