#pragma once
// Requests to classifiers, and what is answered: documents in the order of their relevance to a query (Jina's form, or
// text-embeddings-inference's), and the classes of texts (the latter's).

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct RerankRequest {
  std::string query;
  std::vector<std::string> documents;
  size_t most = 0;              ///< documents in the reply
  bool with_documents = false;  ///< their texts, too
  bool raw = false;             ///< logits as scores
  bool cut = false;             ///< pairs that are too long, instead of refusing them
  bool plain = false;           ///< "texts" in place of "documents": the reply is a list of index and score
};
/// Of the body of POST /v1/rerank. Throws Error for what is no such request and for what is not supported.
RerankRequest parse_rerank_request(std::string_view body);
/// `scores`: of each document in its order.
nlohmann::json rerank_reply(const RerankRequest& request, const std::vector<double>& scores, const std::string& model,
                            int64_t tokens);

struct ClassRequest {
  struct Text {
    std::string first;
    std::optional<std::string> second = {};  ///< of a pair
  };
  std::vector<Text> texts;
  bool several = false;  ///< the reply is a list of lists
  bool raw = false, cut = false;
};
/// Of the body of POST /predict: "inputs" is a text, a pair, or a list of lists of one or two. Throws Error likewise.
ClassRequest parse_class_request(std::string_view body);
/// `scores`: of the classes, whose `names` these are, of each text.
nlohmann::json class_reply(const ClassRequest& request, const std::vector<std::vector<double>>& scores,
                           const std::vector<std::string>& names);

}  // namespace vkformer
