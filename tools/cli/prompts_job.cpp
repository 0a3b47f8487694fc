// `train --prompts`: a language model learns completions of prompts, texts, or what an assistant says.

#include <algorithm>

#include "models/chat/chat_files.h"
#include "models/chat/learned_turns.h"
#include "models/data/packed_texts.h"
#include "models/data/prompt_rows.h"
#include "models/generation/generation_config.h"
#include "models/text/prompt_text.h"
#include "runtime/check.h"
#include "tools/cli/output.h"
#include "tools/cli/tokenizer_files.h"
#include "tools/cli/train_job.h"

namespace vkformer {

namespace {

constexpr int64_t usual_context = 1024;  // TRL's max_length

/// What is said of rows that could not be taken as they are.
struct Cuts {
  int64_t cut = 0, left_out = 0, run_on = 0, endless = 0;

  std::string text(int64_t context) const {
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
};

/// Whether tokens of a text's beginning, `part`, are others in the whole, but for special ones that end both.
bool runs_on(const std::vector<int32_t>& part, const std::vector<int32_t>& whole) {
  const auto [left, rest] = std::ranges::mismatch(part, whole);
  const auto more = part.end() - left;
  return more > whole.end() - rest || !std::equal(left, part.end(), whole.end() - more);
}

/// The ids of the whole text. Those behind what it has in common with the ids of a stretch and all before it, alone,
/// belong to the next one: so prompts are seen as generating sees them.
LearnedText encode_stretches(const std::vector<TextStretch>& stretches,
                             const std::function<std::vector<int32_t>(const std::string&)>& ids_of, Cuts& cuts) {
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

/// Conversations as the model's template writes them. The template writes special tokens itself.
class ConversationEncoder {
 public:
  ConversationEncoder(ChatTemplate written_by, const std::filesystem::path& folder, const PromptText& tokenizer)
      : template_(std::move(written_by)), variables_(special_token_variables(folder)), tokenizer_(tokenizer) {}

  LearnedText encode(const PromptRow& row, const std::string& place, Cuts& cuts) const {
    try {
      return encode_stretches(
          learned_turns(template_, {.messages = row.messages, .tools = row.tools, .variables = variables_}),
          [&](const std::string& text) { return tokenizer_.encode_as_it_is(text); }, cuts);
    } catch (const Error& error) {
      fail("{}: {}", place, error.what());
    }
  }

 private:
  ChatTemplate template_;
  nlohmann::ordered_json variables_;
  const PromptText& tokenizer_;
};

/// Rows as ids.
class PromptEncoder {
 public:
  PromptEncoder(const PromptText& tokenizer, const ConversationEncoder* talks, std::optional<int32_t> end,
                int64_t context)
      : tokenizer_(tokenizer), talks_(talks), end_(end), context_(context) {}

  std::vector<LearnedText> encode(const PromptRows& rows, Cuts& cuts) const {
    std::vector<LearnedText> texts;
    for (const PromptRow& row : rows.rows) {
      const std::string place = fmt::format("{}:{}", rows.name, row.line);
      LearnedText text;
      if (row.messages.is_null()) {
        try {
          text = encode_stretches(
              row.stretches, [&](const std::string& part) { return ids_of(part); }, cuts);
        } catch (const Error& error) {
          fail("{}: {}", place, error.what());
        }
        if (end_ && (text.ids.empty() || text.ids.back() != *end_)) {
          text.ids.push_back(*end_);
          text.learned.push_back(row.stretches.back().learned);
        }
      } else {
        check(talks_ != nullptr,
              "{}: the tokenizer's folder has no chat template to write messages by; put one there "
              "(chat_template.jinja), "
              "or give rows of \"prompt\" and \"completion\"",
              place);
        text = talks_->encode(row, place, cuts);
        cuts.endless += !learns_an_end(text);
      }
      const auto most = static_cast<size_t>(context_) + 1;
      if (text.ids.size() > most) {
        text.ids.resize(most);
        text.learned.resize(most);
        ++cuts.cut;
      }
      const bool learns =
          text.ids.size() >= 2 && std::any_of(text.learned.begin() + 1, text.learned.end(), std::identity());
      if (learns)
        texts.push_back(std::move(text));
      else
        ++cuts.left_out;
    }
    return texts;
  }

 private:
  bool learns_an_end(const LearnedText& text) const {
    for (size_t i = 0; i < text.ids.size(); ++i)
      if (text.learned[i] != 0 && (text.ids[i] == end_ || tokenizer_.is_special(text.ids[i]))) return true;
    return false;
  }
  /// Special tokens that belong around a text, too.
  std::vector<int32_t> ids_of(const std::string& text) const {
    return text.empty() ? std::vector<int32_t>() : tokenizer_.encode(text);
  }

  const PromptText& tokenizer_;
  const ConversationEncoder* talks_;  ///< nullptr: there is no template
  std::optional<int32_t> end_;
  int64_t context_;
};

/// What the model generates as a text's end.
std::optional<int32_t> end_of_text(const nlohmann::json& config) {
  const auto found = config.find("eos_token_id");
  if (found == config.end() || found->is_null()) return std::nullopt;
  const nlohmann::json& id = found->is_array() && !found->empty() ? found->front() : *found;
  return id.is_number_integer() ? std::optional(id.get<int32_t>()) : std::nullopt;
}

/// The first text, with what is learned of it in brackets.
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

int64_t learned_tokens(const std::vector<LearnedText>& texts) {
  int64_t count = 0;
  for (const LearnedText& text : texts) count += std::count(text.learned.begin() + 1, text.learned.end(), 1);
  return count;
}

int64_t all_positions(const std::vector<LearnedText>& texts) {
  int64_t count = 0;
  for (const LearnedText& text : texts) count += std::ssize(text.ids) - 1;
  return count;
}

}  // namespace

TrainJob prompts_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  if (folder.empty()) throw UsageError("--prompts needs --tokenizer FOLDER, with a tokenizer.json, or --from FOLDER");
  const TokenizerFiles text = TokenizerFiles::load(folder);
  const PromptText tokenizer(folder);
  TrainJob job = job_of_tokens(flags, checkpoint, {.count = tokenizer.size(), .write = text.writer()});
  const Model& model = *job.model;
  check(model.task == Task::causal,
        "--prompts trains a decoder, {} is none; an encoder-decoder takes the same prompts and completions as --pairs "
        "FILE.jsonl",
        model.family);
  if (flags.context == 0) flags.context = model.context > 0 ? std::min(model.context, usual_context) : usual_context;
  set_context(flags, model);

  const auto rows_of = [](const RunFile& file) { return read_prompt_rows(file.content, file.path); };
  std::optional<ConversationEncoder> talks;
  if (auto found = find_chat_template(folder)) talks.emplace(std::move(*found), folder, tokenizer);
  const std::optional<int32_t> end = end_of_text(*model.config);
  check(!end || *end < model.vocabulary, "the config's eos_token_id {} is no id of the {} that the model knows; set it",
        end.value_or(0), model.vocabulary);
  const PromptEncoder encoder(tokenizer, talks ? &*talks : nullptr, end, flags.context);
  Cuts cuts;
  std::vector<LearnedText> training = encoder.encode(rows_of(*find_file(files, "prompts")), cuts), validation;
  if (const RunFile* validated = find_file(files, "valid prompts"))
    validation = encoder.encode(rows_of(*validated), cuts);
  check(!training.empty(), "no row of the training file has anything to learn within {} tokens", flags.context);
  job.summary = fmt::format("{} of {:.1f} tokens, {} of them learned", counted(std::ssize(training), "text"),
                            static_cast<double>(all_positions(training)) / static_cast<double>(training.size()) + 1,
                            learned_tokens(training));
  if (!validation.empty()) job.summary += fmt::format(", {} for validation", counted(std::ssize(validation), "text"));
  job.summary += cuts.text(flags.context);
  if (!end) job.summary += "\nthe config has no eos_token_id: only conversations learn where an answer ends";
  job.summary += fmt::format("\nthe first, what is learned in brackets:{}", shown(training.front(), tokenizer));
  const int64_t positions = std::min(flags.context, std::max(all_positions(training), all_positions(validation)));
  if ((!flags.resume || flags.given.contains("--batch-tokens")) && !flags.given.contains("--batch"))
    flags.batch = std::max<int64_t>(1, std::min(flags.batch_tokens, all_positions(training)) / positions);
  auto data = std::make_unique<PackedTexts>(
      std::move(training), std::move(validation),
      PackedTexts::Settings{.rows = flags.batch, .positions = positions, .seed = flags.settings.seed});
  job.summary += '\n' + data->describe();
  job.perplexity = true;
  job.data = std::move(data);
  return job;
}

}  // namespace vkformer
