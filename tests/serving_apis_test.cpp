// Requests and answers of the APIs beside chat completions: Responses, Messages, llama.cpp's completions, rerankers.

#include <catch2/catch_test_macros.hpp>
#include <nlohmann/json.hpp>

#include "models/classification/relevance.h"
#include "models/serving/classes.h"
#include "models/serving/llama_form.h"
#include "models/serving/messages.h"
#include "models/serving/responses.h"
#include "runtime/check.h"
#include "tests/fuzz_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

/// Each event's data.
std::vector<json> events_of(const std::string& stream) {
  std::vector<json> events;
  constexpr std::string_view mark = "data: ";
  for (size_t at = stream.find(mark); at != stream.npos; at = stream.find(mark, at + 1)) {
    events.push_back(json::parse(stream.substr(at + mark.size(), stream.find("\n\n", at) - at - mark.size())));
    if (events.back().contains("type") && at > 0)
      CHECK(stream.substr(0, at).ends_with("event: " + events.back()["type"].get<std::string>() + "\n"));
  }
  return events;
}

/// An answer of every kind of piece.
std::string streamed(ReplyForm& form, const TextReplyHead& head, const TextReply& reply) {
  std::string stream = form.begin(head);
  for (const char c : reply.thoughts) stream += form.text(head, {c}, true, {});
  for (const char c : reply.text) stream += form.text(head, {c}, false, {});
  for (size_t i = 0; i < reply.calls.size(); ++i) stream += form.call(head, reply.calls[i], i);
  return stream + form.end(head, reply.end, reply.calls.size()) + form.end_of_all(head, reply.end);
}

std::vector<std::string> event_types(const std::vector<json>& events) {
  std::vector<std::string> types;
  for (const json& event : events)
    if (const std::string type = event["type"]; types.empty() || types.back() != type) types.push_back(type);
  return types;
}

std::string refusal_of_response(const std::string& body) {
  try {
    parse_responses_request(body);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

const TextReply every_kind{.text = "Hi",
                           .thoughts = "Hm",
                           .calls = {{.name = "add", .arguments = R"({"a":1})"}},
                           .end = {.prompt_tokens = 5, .reused_tokens = 2, .answer_tokens = 4, .thought_tokens = 1}};

const std::string responses_body =
    R"({"instructions": "Be brief.", "max_output_tokens": 9, "temperature": 0.5, "stream": true,
  "input": [{"role": "developer", "content": "Add."}, {"role": "user", "content": [{"type": "input_text", "text": "1 + "}, {"type": "input_text", "text": "1?"}]},
    {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
    {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{\"b\":1,\"a\":1}"},
    {"type": "function_call_output", "call_id": "c1", "output": "2"}],
  "tools": [{"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": true}],
  "tool_choice": {"type": "function", "name": "add"}, "reasoning": {"effort": "low"}, "store": false})";
const std::string messages_body =
    R"({"system": [{"type": "text", "text": "Be brief."}], "max_tokens": 9, "stop_sequences": ["."],
  "messages": [{"role": "user", "content": "1 + 1?"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm", "signature": ""}, {"type": "tool_use", "id": "c1", "name": "add", "input": {"b": 1, "a": 1}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "2"}]}, {"type": "text", "text": "So?"}]}],
  "tools": [{"name": "add", "input_schema": {"type": "object"}}], "tool_choice": {"type": "tool", "name": "add", "disable_parallel_tool_use": true},
  "thinking": {"type": "disabled"}})";

}  // namespace

TEST_CASE("a Responses request is a conversation", "[serving]") {
  const auto [text, said] = parse_responses_request(responses_body);
  CHECK(
      text.messages.dump() ==
      R"([{"role":"system","content":"Be brief.\n\nAdd."},{"role":"user","content":"1 + 1?"},)"
      R"({"role":"assistant","content":"","reasoning_content":"Hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":{"b":1,"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"2"}])");
  CHECK(text.tools.dump() ==
        R"([{"type":"function","function":{"name":"add","parameters":{"type":"object"},"strict":true}}])");
  CHECK((text.max_tokens == 9 && text.temperature == 0.5 && text.stream && text.must_call && text.tool == "add"));
  CHECK(text.template_variables == json{{"reasoning_effort", "low"}});
  CHECK((said["tools"][0]["name"] == "add" && said["max_output_tokens"] == 9 && said["top_p"].is_null()));
  CHECK(parse_responses_request(R"({"input": "Hi"})").text.messages.dump() == R"([{"role":"user","content":"Hi"}])");
  const std::string form =
      R"({"input": "Hi", "text": {"format": {"type": "json_schema", "name": "x", "schema": {"const": 1}}}})";
  CHECK_FALSE(parse_responses_request(form).text.grammar.empty());

  for (const auto& [wrong, why] : std::vector<std::pair<std::string, std::string>>{
           {R"("previous_response_id": "resp_1")", "nothing is kept between requests"},
           {R"("store": true)", "\"store\" must be false"},
           {R"("background": true)", "\"background\""},
           {R"("include": ["file_search_call.results"])", "file_search_call.results"},
           {R"("tools": [{"type": "web_search"}])", "web_search"},
           {R"("tool_choice": {"type": "mcp"})", "mcp"},
           {R"("text": {"verbosity": "low"})", "verbosity"},
           {R"("max_output_tokns": 3)", "did you mean \"max_output_tokens\""},
           {R"("messages": [])", "called \"input\""},
           {R"("n": 2)", "\"n\""}})
    CHECK(refusal_of_response(R"({"input": "Hi", )" + wrong + "}").find(why) != std::string::npos);
  for (const char* input : {"[]", "[1]", R"([{"role": "user"}])", R"([{"type": "item_reference", "id": "x"}])",
                            R"([{"role": "user", "content": [{"type": "input_image"}]}])",
                            R"([{"type": "function_call", "call_id": "x"}])", "null"})
    CHECK_FALSE(refusal_of_response(R"({"input": )" + std::string(input) + "}").empty());
}

TEST_CASE("Responses come whole and as events", "[serving]") {
  const TextReplyHead head{.id = "resp_1", .model = "m", .created = 3, .chat = true};
  const json said{{"store", false}};
  ResponsesForm whole_form(said), form(said);
  const json whole = whole_form.whole(head, {every_kind}, every_kind.end);
  CHECK((whole["status"] == "completed" && whole["output"].size() == 3 && whole["store"] == false));
  CHECK(whole["output"][0]["content"][0] == json{{"type", "reasoning_text"}, {"text", "Hm"}});
  CHECK(whole["output"][1]["content"][0]["text"] == "Hi");
  CHECK((whole["output"][2]["type"] == "function_call" && whole["output"][2]["arguments"] == R"({"a":1})"));
  CHECK(whole["usage"] == json{{"input_tokens", 5},
                               {"input_tokens_details", {{"cached_tokens", 2}}},
                               {"output_tokens", 4},
                               {"output_tokens_details", {{"reasoning_tokens", 1}}},
                               {"total_tokens", 9}});
  const std::vector<json> events = events_of(streamed(form, head, every_kind));
  CHECK(events.back()["response"] == whole);
  const std::string item = "response.output_item.", part = "response.content_part.",
                    thoughts = "response.reasoning_text.", text = "response.output_text.",
                    call = "response.function_call_arguments.";
  CHECK(event_types(events) ==
        std::vector<std::string>{"response.created", "response.in_progress", item + "added", part + "added",
                                 thoughts + "delta", thoughts + "done", part + "done", item + "done", item + "added",
                                 part + "added", text + "delta", text + "done", part + "done", item + "done",
                                 item + "added", call + "delta", call + "done", item + "done", "response.completed"});
  for (size_t i = 0; i < events.size(); ++i) CHECK(events[i]["sequence_number"] == i);
  std::vector<json> done;
  for (const json& event : events)
    if (event["type"] == item + "done") {
      CHECK(event["output_index"] == done.size());
      done.push_back(event["item"]);
    }
  CHECK(json(done) == whole["output"]);

  const json nothing = json::object();
  ResponsesForm cut(nothing), failed(nothing);
  const TextReplyEnd at_limit{.cut = true};
  const json incomplete = events_of(streamed(cut, head, {.text = {}, .end = at_limit})).back()["response"];
  CHECK((incomplete["status"] == "incomplete" && incomplete["incomplete_details"]["reason"] == "max_output_tokens"));
  CHECK((incomplete["output"].size() == 1 && incomplete["output"][0]["content"].size() == 1));
  const json failure = events_of(failed.begin(head) + failed.text(head, "a", false, {}) + failed.failure(head, "why"))
                           .back()["response"];
  CHECK((failure["status"] == "failed" && failure["error"]["message"] == "why"));
}

TEST_CASE("a Messages request is a conversation", "[serving]") {
  const TextRequest text = parse_messages_request(messages_body);
  CHECK(
      text.messages.dump() ==
      R"([{"role":"system","content":"Be brief."},{"role":"user","content":"1 + 1?"},)"
      R"({"role":"assistant","content":"","reasoning_content":"Hm","tool_calls":[{"id":"c1","type":"function","function":{"name":"add","arguments":{"b":1,"a":1}}}]},)"
      R"({"role":"tool","tool_call_id":"c1","content":"2"},{"role":"user","content":"So?"}])");
  CHECK(text.tools.dump() == R"([{"type":"function","function":{"name":"add","parameters":{"type":"object"}}}])");
  CHECK((text.max_tokens == 9 && text.cut_to_room && text.must_call && text.tool == "add" && !text.several_calls));
  CHECK(text.stops == std::vector<std::string>{"."});
  CHECK(text.template_variables == json{{"enable_thinking", false}});
  const std::string hi = R"({"messages": [{"role": "user", "content": "Hi"}])";
  CHECK_THROWS_AS(parse_messages_request(hi + "}"), Error);  // without max_tokens
  CHECK(parse_messages_request(hi + R"(, "max_tokens": 1, "speed": "standard"})").chat());
  CHECK(parse_messages_request(hi + "}", true).chat());
  for (const char* wrong :
       {R"("tools": [{"type": "bash_20250124", "name": "bash"}])", R"("tools": [{"name": "x"}])",
        R"("tool_choice": {"type": "some"})", R"("mcp_servers": [{}])", R"("n": 2)", R"("systm": "a")",
        R"("chat_template_kwargs": "a", "thinking": {"type": "enabled"})", R"("system": [{"type": "image"}])"})
    CHECK_THROWS_AS(parse_messages_request(hi + R"(, "max_tokens": 1, )" + wrong + "}"), Error);
  const std::string begun =
      R"({"max_tokens": 1, "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well"}]})";
  CHECK(parse_messages_request(begun).begun == "Well");
  CHECK(parse_messages_request(begun).messages.size() == 1);
  for (const char* content :
       {"null", "1", R"([{"type": "image"}])", R"([{"type": "tool_use", "id": "a", "name": "b"}])"})
    CHECK_THROWS_AS(parse_messages_request(R"({"max_tokens": 1, "messages": [{"role": "user", "content": )" +
                                           std::string(content) + "}]}"),
                    Error);
}

TEST_CASE("Messages come whole and as events", "[serving]") {
  const TextReplyHead head{.id = "msg_1", .model = "m", .chat = true, .prompt_tokens = 5};
  MessagesForm form;
  const json whole = form.whole(head, {every_kind}, every_kind.end);
  CHECK(whole["content"][0] == json{{"type", "thinking"}, {"thinking", "Hm"}, {"signature", ""}});
  CHECK(whole["content"][1] == json{{"type", "text"}, {"text", "Hi"}});
  CHECK((whole["content"][2]["type"] == "tool_use" && whole["content"][2]["input"] == json{{"a", 1}}));
  CHECK((whole["stop_reason"] == "tool_use" && whole["stop_sequence"].is_null()));
  CHECK((whole["usage"]["input_tokens"] == 3 && whole["usage"]["cache_read_input_tokens"] == 2));
  const std::vector<json> events = events_of(streamed(form, head, every_kind));
  const std::vector<std::string> block{"content_block_start", "content_block_delta", "content_block_stop"};
  std::vector<std::string> types{"message_start"};
  for (int i = 0; i < 3; ++i) types.insert(types.end(), block.begin(), block.end());
  types.insert(types.end(), {"message_delta", "message_stop"});
  CHECK(event_types(events) == types);
  std::string kinds;
  for (const json& event : events)
    if (event.contains("delta") && event.contains("index")) {
      const json& delta = event["delta"];
      kinds += delta.value("text", "") + delta.value("thinking", "") + delta.value("partial_json", "");
      kinds += std::to_string(event["index"].get<int>());
    }
  CHECK(kinds == R"(H0m0H1i1{"a":1}2)");
  CHECK(events[events.size() - 2]["usage"] == whole["usage"]);
  const TextReply stopped{.text = "a", .end = {.stop = "."}};
  CHECK(form.whole(head, {stopped}, stopped.end)["stop_sequence"] == ".");
  CHECK(events_of(form.failure(head, "why"))[0]["error"]["message"] == "why");
}

TEST_CASE("llama.cpp's completions tell how they ended", "[serving]") {
  LlamaForm form;
  const TextReplyHead head{.id = "a", .model = "m", .choice = 1};
  TextReplyEnd end{.prompt_tokens = 5, .reused_tokens = 2, .answer_tokens = 4, .seed = 3};
  const json whole = form.whole(head, {{.text = "x", .end = end}}, end);
  CHECK((whole["content"] == "x" && whole["stop"] == true && whole["stop_type"] == "eos" && whole["index"] == 0));
  CHECK((whole["tokens_evaluated"] == 5 && whole["tokens_cached"] == 2 && whole["tokens_predicted"] == 4));
  CHECK(form.whole(head, {{.text = "x", .end = end}, {.text = "y", .end = end}}, end)[1]["content"] == "y");
  CHECK(events_of(form.text(head, "x", false, {}))[0] == json{{"index", 1}, {"content", "x"}, {"stop", false}});
  end.stop = ".";
  CHECK(events_of(form.end(head, end, 0))[0]["stopping_word"] == ".");
  CHECK(events_of(form.end(head, end, 0))[0]["stop_type"] == "word");
  end = {.cut = true};
  CHECK(events_of(form.end(head, end, 0))[0]["stop_type"] == "limit");
  CHECK_THROWS_AS(parse_llama_request(R"({"prompt": "a", "logprobs": 1})"), Error);
}

TEST_CASE("documents come in the order of their relevance", "[serving]") {
  RerankRequest asked = parse_rerank_request(R"({"query": "q", "documents": ["a", {"text": "b"}, "c"], "top_n": 2})");
  const json ranked = rerank_reply(asked, {0.25, 0.5, 0.5}, "m", 9)["results"];
  CHECK(ranked == json::array({{{"index", 1}, {"relevance_score", 0.5}}, {{"index", 2}, {"relevance_score", 0.5}}}));
  asked = parse_rerank_request(R"({"query": "q", "texts": ["a", "b"], "return_text": true})");
  CHECK(rerank_reply(asked, {0.25, 0.5}, "m", 9)[0] == json{{"index", 1}, {"score", 0.5}, {"text", "b"}});
  const json large{{"query", std::string(10000, 'q')}, {"documents", std::vector<std::string>(2048, "a")}};
  CHECK_THROWS_AS(parse_rerank_request(large.dump()), Error);  // it is kept once for each
  const auto config = [](const json& value) { return JsonObject::make(value, "config.json"); };
  const std::string layers = "torch.nn.modules.";
  CHECK(relevance_of(config(json::object())) == Relevance::sigmoid);
  CHECK(relevance_of(config({{"sbert_ce_default_activation_function", layers + "linear.Identity"}})) ==
        Relevance::logit);
  CHECK(relevance_of(config({{"sentence_transformers", {{"activation_fn", layers + "activation.Sigmoid"}}},
                             {"sbert_ce_default_activation_function", layers + "linear.Identity"}})) ==
        Relevance::sigmoid);
  CHECK(relevance_score(Relevance::sigmoid, 0) == 0.5);
  CHECK(relevance_score(Relevance::logit, -3) == -3);
  const ClassRequest classes = parse_class_request(R"({"inputs": [["a"], ["b", "c"]]})");
  CHECK(class_reply(classes, {{0.25, 0.75}, {0.5, 0.5}}, {"x", "y"})[0][0] == json{{"label", "y"}, {"score", 0.75}});
}

TEST_CASE("objects of very many members are refused, not searched", "[serving]") {
  json body{{"input", "Hi"}};
  for (int i = 0; i < 2000; ++i) body["metadata"][std::to_string(i)] = "";
  CHECK(refusal_of_response(body.dump()).find("2000 members") != std::string::npos);
  body = {{"max_tokens", 1}, {"metadata", body["metadata"]}};
  body["messages"] = json::array({{{"role", "user"}, {"content", "Hi"}}});
  CHECK_THROWS_AS(parse_messages_request(body.dump()), Error);
}

TEST_CASE("damaged requests of other APIs are read or refused", "[serving][fuzz]") {
  Mutator mutate(18);
  Tally tally;
  for (int i = 0; i < tries(3000); ++i) {
    attempt(tally, [&] { parse_responses_request(mutate.bytes(responses_body)); });
    attempt(tally, [&] { parse_messages_request(mutate.bytes(messages_body)); });
    attempt(tally, [&] { parse_rerank_request(mutate.bytes(R"({"query": "q", "documents": ["a", {"text": "b"}]})")); });
    attempt(tally, [&] { parse_class_request(mutate.bytes(R"({"inputs": [["a"], ["b", "c"]]})")); });
  }
  CHECK((tally.read > 100 && tally.refused > 100));
}
