// `vkformer data tones`: recordings of digits, and what they say.

#include "models/data/tones.h"
#include "models/audio/audio_writer.h"
#include "models/data/digit_strings.h"
#include "runtime/files/atomic_file.h"
#include "tools/cli/commands.h"
#include "tools/cli/new_folder.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

/// What a recogniser is to write: "5 3 0 8".
std::string with_blanks(const std::string& digits) {
  std::string text;
  for (const char digit : digits) text += (text.empty() ? "" : " ") + std::string(1, digit);
  return text;
}

/// A part's recordings, then the rows that name them.
void write_recordings(const std::filesystem::path& folder, const char* name, NumberSplit::Part part, int64_t count,
                      const TonesFlags& flags) {
  std::filesystem::create_directory(folder / name);
  std::string rows;
  uint64_t example = static_cast<uint64_t>(part) << 32;
  for (const std::string& digits : digit_strings(part, count, flags.digits, flags.seed)) {
    const std::string file = fmt::format("{}/{:06}.wav", name, example & 0xffffffff);
    write_wav(folder / file, record_tones(digits, flags.seed, example++).samples, tone_rate);
    rows += fmt::format("{{\"audio\": \"{}\", \"text\": \"{}\"}}\n", file, with_blanks(digits));
  }
  write_file_atomically(folder / fmt::format("{}.jsonl", name), rows);
}

}  // namespace

void write_tones(const TonesFlags& flags) {
  const std::filesystem::path folder = flags.out;
  in_new_folder(folder, "writing recordings", [&] {
    using Part = NumberSplit::Part;
    write_recordings(folder, "train", Part::train, flags.train, flags);
    write_recordings(folder, "valid", Part::valid, flags.valid, flags);
    write_recordings(folder, "test", Part::test, flags.test, flags);
  });
  const auto rows = [&](const char* name) { return (folder / name).generic_string(); };
  print(
      "{} recordings to train on in {}, {} for validation in {}, {} for test in {}: vkformer train "
      "models/configs/tiny-whisper.json --speech {} --valid {} --out RUN\n",
      flags.train, rows("train.jsonl"), flags.valid, rows("valid.jsonl"), flags.test, rows("test.jsonl"),
      rows("train.jsonl"), rows("valid.jsonl"));
}

}  // namespace vkformer
