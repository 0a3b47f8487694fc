#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/chat/chat_template.h"
#include "models/families/registry.h"
#include "models/generation/generation_config.h"
#include "models/gguf/gguf_config.h"
#include "models/gguf/gguf_tokenizer.h"
#include "models/gguf/gguf_weights.h"
#include "models/model_files.h"
#include "models/text/tokenizer.h"
#include "models/text/vocabulary.h"
#include "runtime/encoding/encoding.h"
#include "runtime/files/gguf.h"
#include "runtime/files/json_file.h"
#include "runtime/files/safetensors.h"
#include "runtime/files/torch_file.h"
#include "runtime/files/weight_files.h"
#include "tests/fuzz/readers.h"

namespace fuzz {

namespace {

using namespace vkformer;

constexpr std::string_view some_text = "<s>The cat's 12 mats, na\xC3\xAFve \xF0\x9F\x9A\x80 [MASK]</s>";

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

/// An index beside one good shard.
void read_index(std::string_view data) {
  static const std::filesystem::path shard = [] {
    const std::string header = R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
    const uint64_t length = header.size();
    return written("a.safetensors",
                   std::string(reinterpret_cast<const char*>(&length), sizeof length) + header + "1234");
  }();
  written("model.safetensors.index.json", data);
  const WeightFiles files(folder());
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

void read_sentence_piece(std::string_view data) {
  written("config.json", R"({"model_type": "t5"})");
  written("spiece.model", data);
  use(Tokenizer(load_model_json(folder(), vkformer::tokenizer_file)));
}

void read_torch(std::string_view data) {
  const TorchFile file(std::as_bytes(std::span(data)), "fuzz.bin");
  for (const TorchTensor& tensor : file.tensors()) {
    constexpr int64_t most = 1000;  // a stride of 0 makes any number of elements of one
    std::vector<std::byte> values(static_cast<size_t>(std::min(tensor.elements(), most) * size_of(tensor.dtype)));
    file.read(tensor, 0, values);
  }
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

constexpr Reader readers[] = {{"safetensors", read_safetensors},
                              {"index", read_index},
                              {"config", read_config},
                              {"generation_config", read_generation_config},
                              {"tokenizer", read_tokenizer},
                              {"gguf", read_gguf},
                              {"template", read_template},
                              {"torch", read_torch},
                              {"sentence_piece", read_sentence_piece}};

}  // namespace

const std::span<const Reader> readers_of_models = readers;

}  // namespace fuzz
