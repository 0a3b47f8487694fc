#include "models/serving/embeddings.h"

#include <bit>
#include <nlohmann/json.hpp>

#include "models/embedding/embedder.h"
#include "models/serving/request_slips.h"
#include "models/text/precompiled_charsmap.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr size_t most_texts = 2048;

/// The first numbers, of length 1 again (Kusupati et al., "Matryoshka Representation Learning", 2022).
std::vector<float> shortened(std::span<const float> embedding, int64_t dimensions) {
  check(dimensions <= std::ssize(embedding), "\"dimensions\" is {}, embeddings have {}", dimensions, embedding.size());
  return of_length_one(embedding.first(static_cast<size_t>(dimensions)));
}

json numbers_of(const std::vector<float>& embedding, bool base64) {
  static_assert(std::endian::native == std::endian::little);
  if (!base64) return embedding;
  return to_base64({reinterpret_cast<const char*>(embedding.data()), embedding.size() * sizeof(float)});
}

}  // namespace

EmbeddingRequest parse_embedding_request(std::string_view body) {
  const RequestBody read(body);
  const JsonObject& object = read.json;
  check(object.has("input"), "\"input\" is missing");
  const json& input = object.value()["input"];
  const json list = input.is_array() ? input : json::array({input});
  check(!list.empty() && list.size() <= most_texts, "\"input\" has {} texts; 1 to {} are supported", list.size(),
        most_texts);
  EmbeddingRequest request;
  for (const json& text : list) {
    check(text.is_string(), "\"input\" must be a text or a list of texts, not {}", printable(text.dump(), 60));
    request.texts.push_back(text);
  }
  const std::string format = string_or(object, "encoding_format", "float");
  check(format == "float" || format == "base64", "\"encoding_format\" is {}; float and base64 are supported",
        in_quotes(format));
  request.base64 = format == "base64";
  const std::string prompt = string_or(object, "prompt_name", "document");
  check(prompt == "document" || prompt == "query", "\"prompt_name\" is {}; document and query are supported",
        in_quotes(prompt));
  request.query = prompt == "query";
  if (object.has("dimensions")) request.dimensions = require_integer(object, "dimensions", 1, INT32_MAX);
  read.refuse_slips();
  return request;
}

json embedding_reply(const EmbeddingRequest& request, std::vector<std::vector<float>> embeddings,
                     const std::string& model, int64_t tokens) {
  json data = json::array();
  for (size_t i = 0; i < embeddings.size(); ++i) {
    if (request.dimensions) embeddings[i] = shortened(embeddings[i], *request.dimensions);
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", numbers_of(embeddings[i], request.base64)}});
  }
  return {{"object", "list"},
          {"model", model},
          {"data", std::move(data)},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
}

}  // namespace vkformer
