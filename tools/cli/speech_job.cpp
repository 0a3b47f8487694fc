// `train --speech`: recordings and what is said in them teach Whisper.

#include "models/audio/audio_file.h"
#include "models/data/speech_data.h"
#include "models/data/speech_rows.h"
#include "models/model_files.h"
#include "models/transcription/transcriber.h"
#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/job_kinds.h"
#include "tools/cli/output.h"
#include "tools/cli/speech_score.h"
#include "tools/cli/tokenizer_files.h"
#include "tools/cli/train_job.h"

namespace vkformer {

namespace {

SpeechRows rows_of(const std::vector<RunFile>& files, const std::string& role) {
  const RunFile* file = find_file(files, role);
  return file ? read_speech_rows(file->content, file->path) : SpeechRows();
}

TokenizerFiles tokenizer_of(const TrainFlags& flags, const std::filesystem::path& checkpoint, const SpeechRows& rows) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  if (!folder.empty()) return TokenizerFiles::load(folder);
  std::vector<std::string> texts;
  for (const std::string& text : rows.texts) texts.push_back(' ' + text);
  return make_tokenizer(flags, TokenizerTraining::Layout::speech, texts);
}

/// Where the features of a run are described, beside its tokenizer.
MelSettings mel_settings_of(const TrainFlags& flags, const std::filesystem::path& checkpoint, const Model& model) {
  const std::filesystem::path folder = tokenizer_folder(flags, checkpoint);
  const MelSettings usual = usual_mel_settings(model);
  const MelSettings mel = folder.empty() ? usual : load_mel_settings(folder, usual);
  check(mel.mels == model.frame_columns && mel.frames() == model.source_limit() * model.frames_per_position,
        "{}: its features are {} windows of {} mel filters, the model reads {} of {}", folder.generic_string(),
        mel.frames(), mel.mels, model.source_limit() * model.frames_per_position, model.frame_columns);
  return mel;
}

/// What the decoder writes of each row: its heading, its text and the end. Rows that don't fit are an error or left
/// out, of `rows`, too.
SpeechExamples encode(SpeechRows& rows, const std::string& name, const TrainFlags& flags, const SpeechTokens& tokens,
                      const Tokenizer& tokenizer, const MelSettings& mel) {
  SpeechExamples examples;
  SpeechRows kept;
  for (size_t i = 0; i < rows.texts.size(); ++i) {
    std::string& language = rows.languages[i];
    if (language.empty()) language = flags.source_language;
    check(!language.empty() || tokens.languages.empty(),
          "{}:{}: the model knows many languages, but the row has no \"language\"; or give --source-lang de", name,
          i + 1);
    if (tokens.languages.empty()) language.clear();
    std::vector<int32_t> ids = tokens.heading(language, false, false);
    const std::vector<int32_t> text = tokenizer.encode(' ' + rows.texts[i], false).ids;
    ids.insert(ids.end(), text.begin(), text.end());
    ids.push_back(tokens.end);
    if (std::ssize(ids) > flags.context) {
      check(flags.skip_long, "{}:{}: {} tokens, at most {} are taken; give --skip-long to leave such rows out", name,
            i + 1, ids.size(), flags.context);
      continue;
    }
    // As many as a frame more: another rate may make a few samples of what fills the window.
    const double seconds = audio_seconds(rows.recordings[i]),
                 most = static_cast<double>(mel.samples() + mel.hop - 1) / static_cast<double>(mel.rate);
    if (seconds > most) {
      check(flags.skip_long,
            "{}:{}: {} has {:.1f} s, the model's windows {}; cut it, or give --skip-long to leave such rows out", name,
            i + 1, printable(rows.recordings[i].generic_string()), seconds, mel.chunk_seconds);
      continue;
    }
    examples.recordings.push_back(rows.recordings[i]);
    examples.targets.push_back(std::move(ids));
    kept.recordings.push_back(rows.recordings[i]);
    kept.texts.push_back(std::move(rows.texts[i]));
    kept.languages.push_back(std::move(language));
  }
  rows = std::move(kept);
  return examples;
}

}  // namespace

TrainJob speech_job(TrainFlags& flags, const std::vector<RunFile>& files, const std::filesystem::path& checkpoint) {
  SpeechRows training = rows_of(files, "speech"), validation = rows_of(files, "valid speech");
  const TokenizerFiles text = tokenizer_of(flags, checkpoint, training);
  Tokenizer tokenizer = text.tokenizer();
  const auto id_of = [&](const char* token) {
    const auto id = tokenizer.id_of(token);
    check(id.has_value(), "{} has no token {}; --speech needs a tokenizer of Whisper's", text.name(), token);
    return *id;
  };
  const int32_t end = id_of("<|endoftext|>"), start = id_of("<|startoftranscript|>");
  auto mel = std::make_shared<MelSettings>();
  TrainJob job = job_of_tokens(
      flags, checkpoint,
      {.count = tokenizer.size(),
       .ids = {{"bos_token_id", end}, {"eos_token_id", end}, {"pad_token_id", end}, {"decoder_start_token_id", start}},
       .write = [text, mel](const std::filesystem::path& folder) {
         text.write(folder);
         save_mel_settings(*mel, folder);
       }});
  const Model& model = *job.model;
  check_trained_by("--speech", model.frame_columns > 0, model);
  set_context(flags, model);
  *mel = mel_settings_of(flags, checkpoint, model);
  const SpeechTokens tokens =
      speech_tokens_of(tokenizer, text.name(), model,
                       JsonObject::parse(job.generation.empty() ? "{}" : job.generation, generation_file));
  const size_t given = training.texts.size() + validation.texts.size();
  const auto encoded = [&](SpeechRows& rows, const std::string& role) {
    const RunFile* file = find_file(files, role);
    return file ? encode(rows, file->path, flags, tokens, tokenizer, *mel) : SpeechExamples();
  };
  SpeechExamples trained = encoded(training, "speech"), valid = encoded(validation, "valid speech");
  const size_t skipped = given - training.texts.size() - validation.texts.size();
  job.summary = counted(std::ssize(training.texts), "recording");
  if (!validation.texts.empty()) job.summary += fmt::format(", {} for validation", validation.texts.size());
  if (skipped > 0) job.summary += fmt::format("; {} left out as too long", skipped);
  const int64_t windows = model.source_limit();
  auto data = std::make_unique<SpeechData>(
      std::move(trained), std::move(valid),
      SpeechData::Settings{.batches = {.positions = flags.batch_tokens,
                                       .most_rows = std::max<int64_t>(flags.batch_tokens / windows, 1),
                                       .seed = flags.settings.seed},
                           .padding = end,
                           .decoder_start = start,
                           .source_positions = windows,
                           .mel = *mel});
  job.summary += '\n' + data->describe("recordings");
  job.data = std::move(data);
  if (!validation.texts.empty() && flags.score_lines > 0)
    job.scorer = std::make_unique<SpeechScorer>(model, std::move(tokenizer), tokens, *mel, std::move(validation),
                                                static_cast<size_t>(flags.score_lines));
  return job;
}

}  // namespace vkformer
