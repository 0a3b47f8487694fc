// `vkformer transcribe`: what is said in recordings, by Whisper.

#include <nlohmann/json.hpp>
#include <set>

#include "models/audio/audio_file.h"
#include "models/transcription/transcript_text.h"
#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/utf8.h"
#include "tools/cli/commands.h"
#include "tools/cli/output.h"
#include "tools/cli/profile.h"
#include "tools/cli/progress.h"
#include "tools/cli/speech_setup.h"

namespace vkformer {

namespace {

/// Where the segments of one recording go: to stdout as they come, or all together in the end.
class Transcript {
 public:
  Transcript(const TranscribeFlags& flags, std::filesystem::path recording)
      : flags_(flags), recording_(std::move(recording)), format_(transcript_format(flags.format)) {
    if (!flags_.common.json) put(transcript_heading(format_));
  }

  void add(const SpeechSegment& segment) {
    const int64_t number = count_ + 1;
    count_ += flags_.words && !flags_.common.json ? std::ssize(segment.words) : 1;
    if (flags_.per_file)
      segments_.push_back(segment);
    else if (flags_.common.json)
      put_row(segment_json(segment), flags_.recordings.size() > 1);
    else
      put(flags_.words ? word_texts(segment, format_, number) : segment_text(segment, format_, number));
  }

  /// `language`: that was heard in all of its `seconds`.
  void finish(const std::string& language, double seconds) {
    if (flags_.per_file && !flags_.common.json)
      put(whole_text(segments_) + '\n');
    else if (flags_.per_file)
      put_row(transcript_json(segments_, language), true);
    else if (flags_.common.json && count_ == 0)  // else nobody would see that it was read
      put_row(segment_json({.end = seconds, .language = language}), flags_.recordings.size() > 1);
    if (flags_.out.empty()) return;
    const char* ending = flags_.common.json                 ? ".jsonl"
                         : format_ == TranscriptFormat::srt ? ".srt"
                         : format_ == TranscriptFormat::vtt ? ".vtt"
                                                            : ".txt";
    const auto file = std::filesystem::path(flags_.out) / (recording_.stem().generic_string() + ending);
    write_file_atomically(file, text_);
    if (!flags_.common.quiet) say("{}", file.generic_string());
  }

 private:
  void put_row(nlohmann::json row, bool named) {
    if (named) row["file"] = recording_.generic_string();
    put(row.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n');
  }
  void put(std::string_view text) {
    if (!flags_.out.empty()) {
      text_ += text;
    } else {
      print_text(text);
      flush_output();
    }
  }

  const TranscribeFlags& flags_;
  std::filesystem::path recording_;
  TranscriptFormat format_;
  std::string text_;  ///< for a file
  std::vector<SpeechSegment> segments_;
  int64_t count_ = 0;
};

}  // namespace

void transcribe(const TranscribeFlags& flags) {
  check(flags.recordings.size() == 1 || !flags.out.empty() || flags.common.json || flags.format == "text",
        "{} recordings don't make one file of subtitles; give --out FOLDER", flags.recordings.size());
  std::set<std::filesystem::path> names;
  for (const std::filesystem::path recording : flags.recordings)
    check(flags.out.empty() || names.insert(recording.stem()).second,
          "two of the recordings are called {}, and would be one file in {}; transcribe them one by one",
          printable(recording.stem().generic_string()), printable(flags.out));
  if (!flags.out.empty()) std::filesystem::create_directories(flags.out);
  const SpeechSetup setup(flags.model, flags.dtype, flags.adapter);
  auto backend = open_backend(flags.common);
  const TranscribeSettings settings{.beams = flags.beams, .cache_type = cache_type(flags.cache_dtype)};
  const int64_t rate = setup.mel.rate;
  Transcriber transcriber(*backend, setup.model, setup.load(*backend, settings, flags.common.quiet),
                          *setup.text.tokenizer(), setup.tokens, setup.mel, settings);
  const SpeechTask task{.language = flags.language,
                        .translate = flags.translate,
                        .times = !flags.no_times,
                        .words = flags.words,
                        .before = flags.prompt};
  transcriber.check_task(task);
  const double start = now();
  double heard = 0;
  for (const std::string& recording : flags.recordings) {
    const std::vector<float> samples = read_audio(recording, rate);
    const double seconds = static_cast<double>(samples.size()) / static_cast<double>(rate);
    Transcript transcript(flags, recording);
    Progress bar(static_cast<int64_t>(seconds), flags.common.quiet || flags.out.empty());
    const std::string language = transcriber.transcribe(
        samples, task, [&](const SpeechSegment& segment) { transcript.add(segment); },
        [&](double done) {
          bar.show(static_cast<int64_t>(done), "s heard");
          check_written();
        });
    bar.clear();
    transcript.finish(language, seconds);
    heard += seconds;
  }
  report_profile(*backend, flags.common, transcriber.generator());
  check_output();
  if (!flags.common.quiet)
    say("{:.1f} s of sound in {:.1f} s, {:.1f} times as fast as it was spoken", heard, now() - start,
        heard / (now() - start));
}

}  // namespace vkformer
