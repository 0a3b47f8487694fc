#include <cmath>
#include <initializer_list>
#include <string>

#include "models/audio/audio_file.h"
#include "models/audio/log_mel.h"
#include "models/chat/chat_history.h"
#include "models/data/labelled_rows.h"
#include "models/data/lines.h"
#include "models/data/pair_rows.h"
#include "models/data/prompt_rows.h"
#include "models/data/questions.h"
#include "models/data/tagged_texts.h"
#include "models/images/image_file.h"
#include "models/images/image_processor.h"
#include "tests/fuzz/readers.h"

namespace fuzz {

namespace {

using namespace vkformer;

/// The first byte chooses among the names that files of rows may have.
template <class Read>
void read_rows(std::string_view data, std::initializer_list<std::string_view> names, Read&& read) {
  if (data.empty()) return;
  const auto name = names.begin()[static_cast<unsigned char>(data[0]) % names.size()];
  read(std::string(data.substr(1)), std::string(name));
}

void read_data(std::string_view data) {
  read_rows(
      data,
      {"a.jsonl", "a.csv", "a.tsv", "p.jsonl", "p.tsv", "w.conll", "w.jsonl", "q.json", "q.jsonl", "t.jsonl", "lines"},
      [](const std::string& content, const std::string& name) {
        switch (name[0]) {
          case 'a': {
            const LabelledRows rows = read_labelled_rows(content, name);
            return require(classes_of_rows(rows, label_names(rows)).size() == rows.rows.size());
          }
          case 'p': {
            const PairRows rows = read_pair_rows(content, name);
            return require(rows.sources.size() == rows.targets.size());
          }
          case 'w': return void(read_tagged_texts(content, name));
          case 't': return void(read_prompt_rows(content, name));
          case 'q': return void(read_questions(content, name));
          default: return void(split_lines(content, name));
        }
      });
}

void read_chat(std::string_view data) {
  const ChatHistory history = ChatHistory::load(written("chat.json", data));
  const std::filesystem::path again = folder() / "again.json";
  history.save(again);
  require(ChatHistory::load(again).messages() == history.messages());
}

void read_sound(std::string_view data) {
  // libsndfile (1.2.0) leaks what libvorbis begins of a damaged file.
  if (data.starts_with("OggS")) return;
  for (const float sample : decode_audio(std::as_bytes(std::span(data)), "sound", 8000)) require(std::abs(sample) <= 1);
}

void read_mel_settings(std::string_view data) {
  const MelSettings settings = load_mel_settings(written("processor_config.json", data).parent_path());
  require(settings.frames() > 0);
  if (settings.frames() * settings.mels > 1 << 20) return;  // takes long
  const std::vector<float> features = log_mel(std::vector<float>(1000, 0.5f), settings);
  require(std::ssize(features) == settings.frames() * settings.mels);
}

void read_picture(std::string_view data) {
  const Image image = read_image(std::as_bytes(std::span(data)), "picture", 1 << 22);
  require(std::ssize(image.rgb) == 3 * image.width * image.height);
}

void read_image_settings(std::string_view data) {
  const ImageProcessor processor =
      ImageProcessor::from_folder(written("image/preprocessor_config.json", data).parent_path());
  if (processor.height() * processor.width() > 1 << 20) return;  // takes long
  const Image image{7, 5, std::vector<uint8_t>(105, 100)};
  require(std::ssize(processor.pixels(image)) == 3 * processor.height() * processor.width());
}

constexpr Reader readers[] = {{"data", read_data},       {"chat", read_chat},
                              {"sound", read_sound},     {"mel_settings", read_mel_settings},
                              {"picture", read_picture}, {"image_settings", read_image_settings}};

}  // namespace

const std::span<const Reader> readers_of_data = readers;

}  // namespace fuzz
