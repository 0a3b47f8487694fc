#include "tools/cli/prompt_encoder.h"

#include <algorithm>

#include "models/chat/chat_files.h"
#include "models/chat/learned_turns.h"
#include "runtime/check.h"
#include "tools/cli/output.h"
#include "tools/cli/tokenizer_files.h"

namespace vkformer {

namespace {

constexpr int64_t usual_context = 1024;  // TRL's max_length

/// Whether tokens of a text's beginning, `part`, are others in the whole, but for special ones that end both.
bool runs_on(const std::vector<int32_t>& part, const std::vector<int32_t>& whole) {
  const auto [left, rest] = std::ranges::mismatch(part, whole);
  const auto more = part.end() - left;
  return more > whole.end() - rest || !std::equal(left, part.end(), whole.end() - more);
}

/// The ids of the whole text. Those behind what it has in common with the ids of a stretch and all before it, alone,
/// belong to the next one: so prompts are seen as generating sees them.
LearnedText encode_stretches(const std::vector<TextStretch>& stretches,
                             const std::function<std::vector<int32_t>(const std::string&)>& ids_of, PromptCuts& cuts) {
  std::string whole;
  for (const TextStretch& stretch : stretches) whole += stretch.text;
  bool run_on = false;
  LearnedText text{.ids = ids_of(whole), .learned = {}};
  std::string part;
  for (const TextStretch& stretch : stretches) {
    part += stretch.text;
    const bool last = &stretch == &stretches.back();
    const std::vector<int32_t> ids = last ? text.ids : ids_of(part);
    run_on = run_on || (!stretch.learned && runs_on(ids, text.ids));
    const auto common = static_cast<size_t>(std::ranges::mismatch(ids, text.ids).in1 - ids.begin());
    if (common > text.learned.size()) text.learned.resize(common, stretch.learned);
  }
  cuts.run_on += run_on;
  return text;
}

std::optional<int32_t> end_of_text(const nlohmann::json& config) {
  const auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null()) return std::nullopt;
  const nlohmann::json& id = found->is_array() && !found->empty() ? found->front() : *found;
  return id.is_number_integer() ? std::optional(id.get<int32_t>()) : std::nullopt;
}

}  // namespace

std::string PromptCuts::text(int64_t context) const {
  std::string said;
  if (cut > 0) said += fmt::format("; {} cut at {} tokens (--context)", cut, context);
  if (run_on > 0)
    said += fmt::format(
        "; {} whose last given token also has what is learned: begin that with the blank, rather than "
        "end a prompt with it",
        run_on);
  if (endless > 0)
    said += fmt::format(
        "; {} whose answers end in no special token, so that the model learns no end: the chat template has to write "
        "one behind them",
        endless);
  if (left_out > 0) said += fmt::format("; {} left out, for nothing of them is learned", left_out);
  return said;
}

PromptEncoder::PromptEncoder(const PromptText& tokenizer, const std::filesystem::path& folder, const Model& model,
                             int64_t context)
    : tokenizer_(tokenizer),
      template_(find_chat_template(folder)),
      variables_(template_ ? special_token_variables(folder) : nlohmann::ordered_json()),
      end_(end_of_text(*model.config)),
      context_(context) {
  check(!end_ || *end_ < model.vocabulary,
        "the config's eos_token_id {} is no id of the {} that the model knows; set it", end_.value_or(0),
        model.vocabulary);
}

/// The template writes special tokens itself.
LearnedText PromptEncoder::encode_conversation(const PromptRow& row, PromptCuts& cuts) const {
  check(
      template_.has_value(),
      "the tokenizer's folder has no chat template to write messages by; put one there (chat_template.jinja), or give "
      "rows of texts");
  LearnedText text = encode_stretches(
      learned_turns(*template_, {.messages = row.messages, .tools = row.tools, .variables = variables_}),
      [&](const std::string& part) { return tokenizer_.encode_as_it_is(part); }, cuts);
  cuts.endless += !learns_an_end(text);
  return text;
}

/// With special tokens that belong around a text.
LearnedText PromptEncoder::encode_text(const PromptRow& row, PromptCuts& cuts) const {
  LearnedText text = encode_stretches(
      row.stretches,
      [&](const std::string& part) { return part.empty() ? std::vector<int32_t>() : tokenizer_.encode(part); }, cuts);
  if (end_ && (text.ids.empty() || text.ids.back() != *end_)) {
    text.ids.push_back(*end_);
    text.learned.push_back(row.stretches.back().learned);
  }
  return text;
}

LearnedText PromptEncoder::encode(const PromptRow& row, const std::string& place, PromptCuts& cuts) const try {
  LearnedText text = row.messages.is_null() ? encode_text(row, cuts) : encode_conversation(row, cuts);
  if (const auto most = static_cast<size_t>(context_) + 1; text.ids.size() > most) {
    text.ids.resize(most);
    text.learned.resize(most);
    ++cuts.cut;
  }
  return text;
} catch (const Error& error) {
  fail("{}: {}", place, error.what());
}

bool PromptEncoder::learns_an_end(const LearnedText& text) const {
  for (size_t i = 0; i < text.ids.size(); ++i)
    if (text.learned[i] != 0 && (text.ids[i] == end_ || tokenizer_.is_special(text.ids[i]))) return true;
  return false;
}

std::filesystem::path prompt_folder(const TrainFlags& flags, const std::filesystem::path& checkpoint,
                                    const char* option) {
  std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  if (folder.empty())
    throw UsageError(fmt::format("{} needs --tokenizer FOLDER, with a tokenizer.json, or --from FOLDER", option));
  return folder;
}

TrainJob prompt_job(TrainFlags& flags, const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                    const PromptText& tokenizer, const char* option) {
  TrainJob job =
      job_of_tokens(flags, checkpoint, {.count = tokenizer.size(), .write = TokenizerFiles::load(folder).writer()});
  const Model& model = *job.model;
  check(model.task == Task::causal, "{} trains a decoder, {} is none{}", option, model.family,
        std::string_view(option) == "--prompts"
            ? "; an encoder-decoder takes the same prompts and completions as --pairs FILE.jsonl"
            : "");
  if (flags.context == 0) flags.context = model.context > 0 ? std::min(model.context, usual_context) : usual_context;
  set_context(flags, model);
  return job;
}

std::string shown(const LearnedText& text, const PromptText& pieces) {
  constexpr size_t most = 60;
  std::string line;
  bool inside = false;
  for (size_t i = 0; i < std::min(text.ids.size(), most); ++i) {
    const bool learned = i > 0 && text.learned[i] != 0;
    if (learned != inside) line += learned ? " [" : " ]";
    inside = learned;
    line += ' ' + pieces.piece(text.ids[i]);
  }
  if (text.ids.size() > most) line += " ..";
  return line + (inside ? " ]" : "");
}

int64_t learned_tokens(const LearnedText& text) { return std::count(text.learned.begin() + 1, text.learned.end(), 1); }

}  // namespace vkformer
