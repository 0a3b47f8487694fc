#include <initializer_list>
#include <string>

#include "models/chat/chat_history.h"
#include "models/data/labelled_rows.h"
#include "models/data/lines.h"
#include "models/data/pair_rows.h"
#include "models/data/prompt_rows.h"
#include "models/data/questions.h"
#include "models/data/tagged_texts.h"
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

constexpr Reader readers[] = {{"data", read_data}, {"chat", read_chat}};

}  // namespace

const std::span<const Reader> readers_of_data = readers;

}  // namespace fuzz
