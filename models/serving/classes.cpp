#include "models/serving/classes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/classification/relevance.h"
#include "models/serving/request_slips.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "runtime/files/utf8.h"

namespace vkformer {

namespace {

using nlohmann::json;

constexpr size_t most_classed = 2048;
/// Bytes of a query, which is kept and read once for each document.
constexpr size_t most_query = size_t{16} << 20;

/// A text, or an object that has one.
std::string text_of_document(const json& document, const char* key) {
  const json* text = &document;
  if (document.is_object() && document.contains("text")) text = &document["text"];
  check(text->is_string(), "\"{}\" must be a list of texts, or of objects with a \"text\", not of {}", key,
        printable(document.dump(), 60));
  return *text;
}

ClassRequest::Text text_or_pair(const json& texts) {
  const bool right = texts.is_array() && !texts.empty() && texts.size() <= 2 &&
                     std::ranges::all_of(texts, [](const json& text) { return text.is_string(); });
  check(right, "\"inputs\" must be a text, a pair of texts, or a list of lists of one or two texts, not {}",
        printable(texts.dump(), 60));
  ClassRequest::Text text{.first = texts[0]};
  if (texts.size() == 2) text.second = texts[1];
  return text;
}

}  // namespace

RerankRequest parse_rerank_request(std::string_view body) {
  const RequestBody read(body);
  const JsonObject& object = read.json;
  for (const char* key : {"max_chunks_per_doc", "max_tokens_per_doc", "truncate_prompt_tokens", "rank_fields"})
    check(!object.has(key), "\"{}\" is not supported; leave it out", key);
  RerankRequest request{.query = require_string(object, "query")};
  request.plain = object.has("texts");
  const char* key = request.plain ? "texts" : "documents";
  check(object.has(key), "\"documents\" is missing");
  const json& documents = object.value()[key];
  check(documents.is_array() && !documents.empty() && documents.size() <= most_classed,
        "\"{}\" must be a list of 1 to {} texts", key, most_classed);
  check(request.query.size() <= most_query / documents.size(),
        "\"query\" has {} bytes, and {} are the most with {} texts; shorten it, or send fewer", request.query.size(),
        most_query / documents.size(), documents.size());
  for (const json& document : documents) request.documents.push_back(text_of_document(document, key));
  const int64_t count = std::ssize(request.documents);
  request.most = static_cast<size_t>(std::min(count, integer_or(object, "top_n", count, 1, INT32_MAX)));
  request.with_documents = boolean_or(object, "return_documents", false) || boolean_or(object, "return_text", false);
  request.raw = boolean_or(object, "raw_scores", false);
  request.cut = boolean_or(object, "truncate", false);
  read.refuse_slips();
  return request;
}

json rerank_reply(const RerankRequest& request, const std::vector<double>& scores, const std::string& model,
                  int64_t tokens) {
  std::vector<size_t> order = descending(scores);
  order.resize(request.most);
  json results = json::array();
  for (const size_t i : order) {
    json result{{"index", i}, {request.plain ? "score" : "relevance_score", scores[i]}};
    if (request.with_documents && request.plain)
      result["text"] = request.documents[i];
    else if (request.with_documents)
      result["document"] = {{"text", request.documents[i]}};
    results.push_back(std::move(result));
  }
  if (request.plain) return results;
  return {{"model", model},
          {"object", "list"},
          {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}},
          {"results", std::move(results)}};
}

ClassRequest parse_class_request(std::string_view body) {
  const RequestBody read(body);
  const JsonObject& object = read.json;
  check(object.has("inputs"), "\"inputs\" is missing");
  const json& inputs = object.value()["inputs"];
  ClassRequest request{.several = inputs.is_array() && !inputs.empty() && inputs[0].is_array()};
  check(!request.several || inputs.size() <= most_classed, "\"inputs\" has {} texts; 1 to {} are supported",
        inputs.size(), most_classed);
  if (request.several)
    for (const json& texts : inputs) request.texts.push_back(text_or_pair(texts));
  else
    request.texts.push_back(text_or_pair(inputs.is_string() ? json::array({inputs}) : inputs));
  request.raw = boolean_or(object, "raw_scores", false);
  request.cut = boolean_or(object, "truncate", false);
  read.refuse_slips();
  return request;
}

json class_reply(const ClassRequest& request, const std::vector<std::vector<double>>& scores,
                 const std::vector<std::string>& names) {
  json all = json::array();
  for (const std::vector<double>& row : scores) {
    json classes = json::array();
    for (const size_t i : descending(row)) classes.push_back({{"label", names[i]}, {"score", row[i]}});
    all.push_back(std::move(classes));
  }
  return request.several ? all : all[0];
}

}  // namespace vkformer
