#pragma once
// OpenAI's requests for embeddings, and what is answered.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct EmbeddingRequest {
  std::vector<std::string> texts;
  bool base64 = false;                ///< of little-endian f32, instead of numbers
  bool query = false;                 ///< the texts are questions, which some models want told ("prompt_name": "query")
  std::optional<int64_t> dimensions;  ///< only the first so many numbers, of length 1 again
};

/// Of the body of POST /v1/embeddings. Throws Error for what is no such request and for what is not supported.
EmbeddingRequest parse_embedding_request(std::string_view body);

/// `embeddings`: of each text in its order. Throws Error where they have fewer dimensions than asked for.
nlohmann::json embedding_reply(const EmbeddingRequest& request, std::vector<std::vector<float>> embeddings,
                               const std::string& model, int64_t tokens);

}  // namespace vkformer
