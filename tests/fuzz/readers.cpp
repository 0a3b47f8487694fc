// Everything that reads what others wrote, for coverage-guided fuzzing by libFuzzer: tests/fuzz/run.
// An input is read, or refused by an Error of one short line; anything else (a crash, another exception, more than the
// time or memory that the script grants) is a finding.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

#include "models/chat/chat_template.h"
#include "models/data/labelled_rows.h"
#include "models/data/lines.h"
#include "models/data/pair_rows.h"
#include "models/data/questions.h"
#include "models/data/tagged_texts.h"
#include "models/families/registry.h"
#include "models/generation/generation_config.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "models/text/tokenizer.h"
#include "models/text/vocabulary.h"
#include "runtime/check.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/gguf.h"
#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/weight_files.h"

namespace {

using namespace vkformer;

constexpr std::string_view some_text = "<s>The cat's 12 mats, na\xC3\xAFve \xF0\x9F\x9A\x80 [MASK]</s>";

void require(bool holds) {
  if (!holds) std::abort();
}

void read_safetensors(std::string_view data) {
  const SafetensorsFile file(std::as_bytes(std::span(data)), "fuzz");
  for (const TensorEntry& tensor : file.tensors()) {
    require(file.find(tensor.name) == &tensor);
    if (tensor.dtype == FileDType::i32 || tensor.dtype == FileDType::i64) {
      std::vector<int32_t> values(static_cast<size_t>(tensor.elements()));
      file.read_ints(tensor, values);
    } else {
      std::vector<float> values(static_cast<size_t>(tensor.elements()));
      file.read_floats(tensor, values);
    }
  }
}

/// An index beside one good shard, in a folder of this process.
void read_index(std::string_view data) {
  static const std::filesystem::path folder = [] {
    std::string name = (std::filesystem::temp_directory_path() / "vkformer-fuzz-XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr);
    const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const uint64_t length = header.size();
    std::ofstream(std::filesystem::path(name) / "a.safetensors", std::ios::binary)
            .write(reinterpret_cast<const char*>(&length), sizeof length)
        << header << "1234";
    return std::filesystem::path(name);
  }();
  std::ofstream(folder / "model.safetensors.index.json", std::ios::binary) << data;
  const WeightFiles files(folder);
  for (const auto& tensor : files.tensors())
    if (tensor->is_float() && tensor->elements() == 1) {
      float value = 0;
      tensor->read_floats(0, std::span(&value, 1));
    }
}

void read_config(std::string_view data) { make_model(JsonObject::parse(std::string(data), "config.json")); }

void read_generation_config(std::string_view data) {
  parse_generation_config(JsonObject::parse(std::string(data), "generation_config.json"));
}

void use(const Tokenizer& tokenizer) { tokenizer.decode(tokenizer.encode(std::string(some_text)).ids); }

void read_tokenizer(std::string_view data) {
  const JsonObject json = JsonObject::parse(std::string(data), "tokenizer.json");
  if (!Vocabulary::is_one(json)) return use(Tokenizer(json));
  const Vocabulary vocabulary = Vocabulary::from(json);
  std::vector<int32_t> ids(static_cast<size_t>(vocabulary.size()));
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i);
  require(vocabulary.encode(vocabulary.decode(ids)) == ids);
}

void read_gguf(std::string_view data) {
  const GgufFile file(std::as_bytes(std::span(data)), "fuzz.gguf");
  for (const GgufTensor& tensor : file.tensors()) {
    const auto dtype = dtype_of(*tensor.type);
    if (!dtype) continue;
    std::vector<float> values(tensor.bytes.size() / static_cast<size_t>(tensor.type->bytes) *
                              static_cast<size_t>(tensor.type->values));
    decode(*dtype, tensor.bytes, values);
  }
  gguf_tokenizer_config(file.metadata());
  use(Tokenizer(JsonObject::make(gguf_tokenizer(file.metadata()), "fuzz.gguf")));
}

void read_template(std::string_view data) {
  const ChatTemplate chat(data, "fuzz");
  const auto messages = nlohmann::ordered_json::parse(
      R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello <b>&"},
          {"role": "assistant", "content": "Hi", "tool_calls": [{"function": {"name": "f", "arguments": {"x": [1.5]}}}]},
          {"role": "tool", "content": "42"}, {"role": "user", "content": "So?"}])");
  const auto tools = nlohmann::ordered_json::parse(R"([{"type": "function", "function": {"name": "f"}}])");
  chat.render({.messages = messages,
               .tools = tools,
               .documents = nullptr,
               .add_generation_prompt = true,
               .variables = {{"bos_token", "<s>"}, {"eos_token", "</s>"}}});
}

/// The first byte chooses among the names that files of rows may have.
template <class Read>
void read_rows(std::string_view data, std::initializer_list<std::string_view> names, Read&& read) {
  if (data.empty()) return;
  const auto name = names.begin()[static_cast<unsigned char>(data[0]) % names.size()];
  read(std::string(data.substr(1)), std::string(name));
}

void read_data(std::string_view data) {
  read_rows(data, {"a.jsonl", "a.csv", "a.tsv", "p.jsonl", "p.tsv", "w.conll", "w.jsonl", "q.json", "q.jsonl", "lines"},
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
                case 'q': return void(read_questions(content, name));
                default: return void(split_lines(content, name));
              }
            });
}

struct Reader {
  std::string_view name;
  void (*read)(std::string_view);
};
constexpr Reader readers[] = {{"safetensors", read_safetensors}, {"index", read_index},
                              {"config", read_config},           {"generation_config", read_generation_config},
                              {"tokenizer", read_tokenizer},     {"gguf", read_gguf},
                              {"template", read_template},       {"data", read_data}};

/// VKFORMER_READER names it.
const Reader& chosen() {
  const char* name = std::getenv("VKFORMER_READER");
  const auto found = std::ranges::find(readers, name ? name : "", &Reader::name);
  if (found != std::end(readers)) return *found;
  std::cerr << "VKFORMER_READER must be one of";
  for (const Reader& reader : readers) std::cerr << ' ' << reader.name;
  std::cerr << '\n';
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Reader& reader = chosen();
  // In memory of its own, so that reads past the end are seen.
  const std::vector<char> exact(data, data + size);
  try {
    reader.read({exact.data(), exact.size()});
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(!message.empty() && message.size() < 1000 && message.find_first_of("\r\n") == message.npos);
  }
  return 0;
}
