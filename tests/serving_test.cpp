// What a server is asked, what it answers, and where answers stop.

#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/constraint/json_schema.h"
#include "models/generation/session.h"
#include "models/serving/embeddings.h"
#include "models/serving/stop_texts.h"
#include "models/serving/text_reply.h"
#include "models/serving/text_request.h"
#include "runtime/check.h"
#include "tests/file_helpers.h"
#include "tests/fuzz_helpers.h"
#include "tests/model_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;
using nlohmann::json;

namespace {

std::string refusal_of(const std::string& body) {
  try {
    parse_chat_request(body);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// All that is shown of an answer that comes in these pieces.
std::string shown(std::vector<std::string> stops, const std::vector<std::string>& pieces) {
  StopTexts texts(std::move(stops));
  std::string all;
  for (const std::string& piece : pieces) all += texts.push(piece);
  return all + texts.end();
}

const std::string asked = R"({"model": "any", "messages": [{"role": "system", "content": "Be brief."},
  {"role": "user", "content": [{"type": "text", "text": "Who "}, {"type": "text", "text": "sat?"}], "name": "Ann"}],
  "temperature": 0.5, "top_k": -1, "seed": 7, "max_completion_tokens": 9, "max_tokens": 3, "stop": ["a", "b"],
  "stream": true, "stream_options": {"include_usage": true}, "logit_bias": {"5": -100}, "presence_penalty": 0.5,
  "frequency_penalty": 0.25, "n": 1, "user": "somebody", "reasoning_effort": "low",
  "chat_template_kwargs": {"enable_thinking": false}})";
const std::string prompted = R"({"prompt": "Once", "echo": true, "stop": "\n", "cache_prompt": false})";

}  // namespace

TEST_CASE("stop texts end an answer, in whatever pieces it comes", "[serving]") {
  CHECK(shown({}, {"one", " two"}) == "one two");
  CHECK(shown({"two"}, {"one t", "w", "o three"}) == "one ");
  CHECK(shown({"aab"}, {"aa", "ab", "c"}) == "a");
  CHECK(shown({"END", "\n\n"}, {"one\n", "two\n", "\nE"}) == "one\ntwo");
  CHECK(shown({"END"}, {"one EN"}) == "one EN");
  CHECK(shown({"longer than all", "ll"}, {"al", "l of it"}) == "a");
  StopTexts texts({"stop"});
  CHECK(texts.push("all st") == "all ");  // what can't be the beginning of one is not held back
  CHECK(texts.push("art") == "start");
  CHECK_FALSE(texts.found());
  CHECK(texts.push("stop here").empty());
  CHECK(texts.found());
  CHECK(texts.push("more").empty());
}

TEST_CASE("an answer goes on with the assistant's last message", "[serving]") {
  const auto request = [](const std::string& last, const std::string& more = "") {
    return parse_chat_request(R"({"messages": [{"role": "user", "content": "Hi"}, )" + last + "]" + more + "}");
  };
  const std::string text = R"({"role": "assistant", "content": [{"type": "text", "text": "Well, "}]})";
  CHECK(request(text).begun == "Well, ");
  CHECK(request(text, R"(, "continue_final_message": true, "add_generation_prompt": false)").messages.size() == 1);
  CHECK(request(text, R"(, "continue_final_message": false)").begun.empty());
  CHECK(request(text, R"(, "continue_final_message": false)").messages.size() == 2);
  CHECK(request(R"({"role": "assistant", "content": "Well", "tool_calls": null})").begun == "Well");
  const std::string called = R"({"role": "assistant", "content": "Well", "tool_calls": [{}]})";
  const std::string asks = R"({"role": "user", "content": "Well"})";
  for (const std::string& other : {called, asks}) {
    CHECK(request(other).begun.empty());
    CHECK_THROWS_AS(request(other, R"(, "continue_final_message": true)"), Error);
    CHECK_THROWS_AS(request(other, R"(, "add_generation_prompt": false)"), Error);
  }
}

TEST_CASE("requests say what to write and how", "[serving]") {
  const TextRequest request = parse_chat_request(asked);
  REQUIRE(request.chat());
  CHECK(request.messages[1]["content"] == "Who sat?");
  CHECK(request.messages[1]["name"] == "Ann");
  CHECK(request.template_variables == json{{"enable_thinking", false}, {"reasoning_effort", "low"}});
  CHECK((request.stream && request.include_usage && request.cache_prompt));
  CHECK(request.stops == std::vector<std::string>{"a", "b"});
  GenerationConfig config{.max_length = 4, .temperature = 2, .top_p = 0.9, .logit_bias = {{3, 1}}};
  config = request.over(config);
  CHECK((config.do_sample && config.temperature_last && config.temperature == 0.5 && config.top_p == 0.9));
  CHECK((config.top_k == 0 && config.seed == 7 && config.max_new_tokens == 9 && !config.max_length));
  CHECK(config.recent_penalties == RecentPenalties{.presence = 0.5, .frequency = 0.25});
  CHECK(config.logit_bias == std::vector<std::pair<int32_t, double>>{{3, 1}, {5, -100}});
  CHECK_FALSE(parse_chat_request(R"({"messages": [{"role": "user"}], "temperature": 0})").over(config).do_sample);

  const TextRequest completion = parse_completion_request(prompted);
  CHECK(
      (!completion.chat() && completion.prompts.front().text == "Once" && completion.echo && !completion.cache_prompt));
  CHECK(completion.over(GenerationConfig{}) == GenerationConfig{});  // what it does not say stays
  const auto prompts = [](const std::string& prompt) {
    return parse_completion_request(R"({"prompt": )" + prompt + R"(, "n": 2})").prompts;
  };
  CHECK(prompts("[4, 5]").front().ids == std::vector<int32_t>{4, 5});
  CHECK(prompts("[[4, 5]]").front().ids == std::vector<int32_t>{4, 5});
  CHECK(prompts(R"([[4, 5], "b"])").size() == 2);
  CHECK(prompts(R"([[4, 5], "b"])")[1].text == "b");
  for (const char* body :
       {R"({})", R"({"prompt": ""})", R"({"prompt": []})", R"({"prompt": ["a", ""]})", R"({"prompt": [1, "a"]})",
        R"({"prompt": [-1]})", R"({"prompt": [[["a"]]]})", R"({"prompt": ["a", "b"], "n": 65})"})
    CHECK_THROWS_AS(parse_completion_request(body), Error);
}

TEST_CASE("requests say how many answers there are, and whether tokens are scored", "[serving]") {
  const auto completion = [](const std::string& settings) {
    return parse_completion_request(R"({"prompt": "x", )" + settings + "}");
  };
  const auto chat = [](const std::string& settings) {
    return parse_chat_request(R"({"messages": [{"role": "user"}], )" + settings + "}");
  };
  CHECK(completion(R"("n": 3, "best_of": 3)").choices == 3);
  CHECK(completion(R"("logprobs": 5)").likeliest == 5);
  CHECK_FALSE(completion(R"("logprobs": null)").likeliest);
  CHECK(completion(R"("logprobs": 1, "echo": true, "max_tokens": 0)").max_tokens == 0);
  CHECK(chat(R"("logprobs": true, "top_logprobs": 4)").likeliest == 4);
  CHECK(chat(R"("logprobs": true)").likeliest == 0);
  CHECK_FALSE(chat(R"("logprobs": false, "top_logprobs": 0)").likeliest);
  for (const char* wrong :
       {R"("n": 0)", R"("n": 129)", R"("best_of": 2)", R"("logprobs": 21)", R"("logprobs": true)",
        R"("max_tokens": 0, "logprobs": 1)", R"("max_tokens": 0, "echo": true)", R"("top_logprobs": 3)"})
    CHECK_THROWS_AS(completion(wrong), Error);
  for (const char* wrong : {R"("logprobs": 3)", R"("top_logprobs": 3)", R"("max_tokens": 0)", R"("echo": true)",
                            R"("add_special_tokens": true)", R"("prompt_logprobs": 1)"})
    CHECK_THROWS_AS(chat(wrong), Error);
  CHECK_FALSE(completion(R"("add_special_tokens": false)").special_tokens);
}

TEST_CASE("requests say which form an answer has", "[serving]") {
  const auto grammar = [](const std::string& settings) {
    return parse_completion_request(R"({"prompt": "x", )" + settings + "}").grammar;
  };
  const auto refusal = [&](const std::string& settings) { return error_of([&] { grammar(settings); }); };
  const std::string schema = R"({"properties": {"z": {"type": "null"}, "a": {"type": "null"}}, "required": ["a"]})";
  const std::string format = R"("response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": )";
  CHECK(grammar(R"("grammar": "root ::= \"a\"")") == "root ::= \"a\"");
  CHECK(grammar("\"json_schema\": " + schema) == gbnf_of_schema_text(schema, "s"));  // in the order of the text
  CHECK(grammar(format + schema + "}}") == gbnf_of_schema_text(schema, "s"));
  CHECK(grammar(R"("response_format": {"type": "json_object"})") == gbnf_of_schema_text(R"({"type": "object"})", "s"));
  CHECK(grammar(R"("response_format": {"type": "text"}, "grammar": "", "json_schema": null)").empty());
  CHECK(refusal(format + R"({"type": "number", "minimum": 1}}})").find("\"minimum\"") != std::string::npos);
  CHECK(refusal(R"("response_format": {"type": "xml"})").find("\"xml\"") != std::string::npos);
  CHECK(refusal(R"("response_format": {"type": "json_schema", "json_schema": {}})").find("schema") !=
        std::string::npos);
  CHECK(refusal(R"("json_schema": {}, "grammar": "root ::= [a]")").find("one form") != std::string::npos);
}

TEST_CASE("tools may be called, or must be", "[serving]") {
  const std::string messages = R"({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": null,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{\"b\": 1, \"a\": 2}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "3"}], )";
  const std::string tools = R"("tools": [{"type": "function", "function": {"name": "f", "parameters":
    {"properties": {"b": {}, "a": {}}}}}, {"type": "function", "function": {"name": "g"}}])";
  const auto parsed = [&](const std::string& choice) { return parse_chat_request(messages + tools + choice + "}"); };
  const TextRequest plain = parsed("");
  CHECK(plain.tools.dump().find(R"({"b":{},"a":{}})") != std::string::npos);  // in their order
  CHECK(plain.messages[1]["tool_calls"][0]["function"]["arguments"].dump() == R"({"b":1,"a":2})");
  CHECK(plain.messages[2]["tool_call_id"] == "1");
  CHECK_FALSE(plain.must_call);
  CHECK(plain.several_calls);
  CHECK_FALSE(parsed(R"(, "tool_choice": "auto", "parallel_tool_calls": false)").several_calls);
  CHECK(parsed(R"(, "tool_choice": "none")").tools.is_null());
  CHECK(parsed(R"(, "tool_choice": "required")").must_call);
  CHECK(parsed(R"(, "tool_choice": {"type": "function", "function": {"name": "g"}})").tool == "g");
  for (const char* wrong : {R"(, "tool_choice": "any")", R"(, "tool_choice": {"function": {"name": "h"}})",
                            R"(, "tool_choice": "required", "grammar": "root ::= [a]")"})
    CHECK_THROWS_AS(parsed(wrong), Error);
  CHECK(refusal_of(R"({"messages": [{"role": "user"}], "tools": [{"type": "web_search"}]})").find("web_search") !=
        std::string::npos);
  CHECK_THROWS_AS(parse_chat_request(R"({"messages": [{"role": "user"}], "tool_choice": "required"})"), Error);

  const TextReplyHead head{.id = "chatcmpl-1", .model = "m", .created = 0, .chat = true};
  const ToolCall call{"f", R"({"a":1})"};
  const json whole = whole_reply(head, {{.text = "", .thoughts = "", .calls = {call, call}}}, {});
  CHECK(whole["choices"][0]["finish_reason"] == "tool_calls");
  const json& message = whole["choices"][0]["message"];
  CHECK(message["content"].is_null());
  CHECK(message["tool_calls"][1]["function"] == json{{"name", "f"}, {"arguments", R"({"a":1})"}});
  CHECK(message["tool_calls"][0]["id"] != message["tool_calls"][1]["id"]);
  CHECK(piece_of_call(head, call, 1)["choices"][0]["delta"]["tool_calls"][0]["index"] == 1);
  CHECK(last_piece(head, {}, 1)["choices"][0]["finish_reason"] == "tool_calls");
  CHECK(last_piece(head, {.cut = true}, 1)["choices"][0]["finish_reason"] == "length");
}

TEST_CASE("requests for what is not there are refused, by name", "[serving]") {
  const auto with = [](const char* key, const json& value) {
    json request{{"messages", {{{"role", "user"}, {"content", "x"}}}}};
    request[key] = value;
    return refusal_of(request.dump());
  };
  CHECK(with("n", 1).empty());
  CHECK(with("tools", json::array()).empty());
  CHECK(with("tool_choice", "auto").empty());
  CHECK(with("response_format", {{"type", "text"}}).empty());
  CHECK(with("mirostat", 2) == "\"mirostat\" must be 0 or left out: nothing else is supported");
  for (const char* key : {"tools", "functions", "logprobs", "json_schema", "grammar", "mirostat"})
    CHECK(with(key, {{"some", 1}}).find(key) != std::string::npos);
  CHECK(with("temperature", -1).find("temperature") != std::string::npos);
  CHECK(with("temperature", "warm").find("temperature") != std::string::npos);
  CHECK(with("stop", json::array({""})).find("stop") != std::string::npos);
  CHECK(with("logit_bias", {{"five", 1}}).find("five") != std::string::npos);
  CHECK(with("max_tokens", 0).find("max_tokens") != std::string::npos);
  CHECK(with("max_tokens", -1).empty());  // llama.cpp's "as many as there is room for"
  CHECK(refusal_of("{").find("the request") != std::string::npos);
  CHECK(refusal_of(R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})").find("image_url") !=
        std::string::npos);
}

TEST_CASE("messages may have pictures, which are data and not fetched", "[serving]") {
  const auto body = [](const std::vector<json>& parts) {
    return json{{"messages", {{{"role", "user"}, {"content", parts}}}}}.dump();
  };
  const auto picture = [](const std::string& url) {
    return json{{"type", "image_url"}, {"image_url", {{"url", url}, {"detail", "high"}}}};
  };
  const json words = {{"type", "text"}, {"text", "What?"}};
  const TextRequest request = parse_chat_request(body(
      {picture("data:image/png;base64,YWJj"), words, {{"type", "image_url"}, {"image_url", "data:;base64,ZGU="}}}));
  REQUIRE(request.pictures.size() == 2);
  CHECK(request.pictures[0].bytes == "abc");
  CHECK(request.pictures[1].bytes == "de");
  CHECK(request.messages[0]["content"].dump() ==
        R"([{"type":"image"},{"type":"text","text":"What?"},{"type":"image"}])");
  CHECK(parse_chat_request(body({words, words})).messages[0]["content"].dump() == R"("What?What?")");
  CHECK(refusal_of(body({picture("https://a.b/c.png")})).find("is not fetched") != std::string::npos);
  for (const char* url :
       {"data:image/png,abc", "data:image/png;base64", "data:image/png;base64,a", "data:;base64,####"})
    CHECK(refusal_of(body({picture(url)})).find("are not base64") != std::string::npos);
  CHECK(refusal_of(body(std::vector<json>(17, picture("data:;base64,YWJj")))).find("more than 16 pictures") !=
        std::string::npos);
  CHECK(refusal_of(body({json{{"type", "input_audio"}}})).find("input_audio") != std::string::npos);
}

TEST_CASE("requests for embeddings say of what, and in which form", "[serving]") {
  const EmbeddingRequest request =
      parse_embedding_request(R"({"input": ["a", "b"], "encoding_format": "base64", "prompt_name": "query"})");
  CHECK(request.texts == std::vector<std::string>{"a", "b"});
  CHECK((request.base64 && request.query && !request.dimensions));
  CHECK(parse_embedding_request(R"({"input": "a"})").texts == std::vector<std::string>{"a"});
  for (const char* body : {R"({})", R"({"input": []})", R"({"input": [1]})", R"({"input": "a", "dimensions": 0})",
                           R"({"input": "a", "encoding_format": "hex"})"})
    CHECK_THROWS_AS(parse_embedding_request(body), Error);

  EmbeddingRequest asked{.texts = {"a"}, .dimensions = 2};
  const json reply = embedding_reply(asked, {{0.6F, 0.8F, 0}}, "m", 3);
  CHECK(reply["data"][0]["embedding"] == json{0.6F, 0.8F});
  CHECK(reply["usage"] == json{{"prompt_tokens", 3}, {"total_tokens", 3}});
  CHECK_THROWS_AS(embedding_reply(asked, {{1}}, "m", 3), Error);
  asked = {.texts = {"a"}, .base64 = true};
  CHECK(embedding_reply(asked, {{1, -2}}, "m", 3)["data"][0]["embedding"] == "AACAPwAAAMA=");
}

TEST_CASE("damaged requests are read or refused", "[serving][fuzz]") {
  Mutator mutate(17);
  Tally tally;
  for (int i = 0; i < tries(6000); ++i) {
    attempt(tally, [&] { parse_chat_request(mutate.bytes(asked)); });
    attempt(tally, [&] { parse_completion_request(mutate.bytes(prompted)); });
    attempt(tally, [&] { parse_embedding_request(mutate.bytes(R"({"input": ["a", "b"], "dimensions": 5})")); });
  }
  CHECK((tally.read > 100 && tally.refused > 100));
}

TEST_CASE("replies have OpenAI's form", "[serving]") {
  const TextReplyEnd end{.cut = true, .prompt_tokens = 5, .reused_tokens = 2, .answer_tokens = 4, .seed = 3};
  const TextReplyHead chat{.id = "a", .model = "m", .created = 1, .chat = true}, other{.id = "a", .model = "m"};
  const json whole =
      whole_reply(chat, {{.text = "text", .thoughts = "thoughts", .calls = {}, .end = end}, {.text = "other"}}, end);
  CHECK(whole["object"] == "chat.completion");
  CHECK(whole["choices"][0]["message"] ==
        json{{"role", "assistant"}, {"content", "text"}, {"reasoning_content", "thoughts"}});
  CHECK(whole["choices"][0]["finish_reason"] == "length");
  CHECK_FALSE(whole["choices"][0].contains("logprobs"));
  CHECK(whole["choices"][1]["index"] == 1);
  CHECK(whole["choices"][1]["message"]["content"] == "other");
  CHECK(whole["usage"] == json{{"prompt_tokens", 5},
                               {"completion_tokens", 4},
                               {"total_tokens", 9},
                               {"prompt_tokens_details", {{"cached_tokens", 2}}}});
  CHECK(whole["seed"] == 3);
  CHECK(whole_reply(other, {{.text = "text"}}, end)["choices"][0]["text"] == "text");
  CHECK(first_piece(chat)["choices"][0]["delta"] == json{{"role", "assistant"}, {"content", ""}});
  CHECK(piece_of_reply(chat, "x", true)["choices"][0]["delta"] == json{{"reasoning_content", "x"}});
  CHECK(piece_of_reply(other, "x", false)["choices"][0]["text"] == "x");
  CHECK(last_piece(chat, end)["choices"][0]["finish_reason"] == "length");
  CHECK(usage_piece(chat, end)["choices"].empty());
  CHECK(event_of(json{{"a", "\xff"}}) == "data: {\"a\":\"\xEF\xBF\xBD\"}\n\n");
}

TEST_CASE("replies tell tokens and their probabilities", "[serving]") {
  const std::vector<ReplyToken> tokens{
      {.text = "a", .log_probability = NAN},
      {.text = "\xe2\x80", .log_probability = -2, .likeliest = {{" b", -1}, {" b", -3}}, .offset = 1}};
  const TextReplyHead chat{.id = "a", .model = "m", .created = 1, .chat = true, .tokens = true};
  const TextReplyHead other{.id = "a", .model = "m", .tokens = true, .choice = 2};
  const json content = piece_of_reply(chat, "x", false, tokens)["choices"][0]["logprobs"]["content"];
  CHECK(content[0] == json{{"token", "a"}, {"logprob", nullptr}, {"bytes", {97}}, {"top_logprobs", json::array()}});
  CHECK(content[1]["top_logprobs"] == json::array({{{"token", " b"}, {"logprob", -1}, {"bytes", {32, 98}}},
                                                   {{"token", " b"}, {"logprob", -3}, {"bytes", {32, 98}}}}));
  CHECK(content[1]["bytes"] == json{0xe2, 0x80});
  const json piece = piece_of_reply(other, "x", false, tokens)["choices"][0];
  CHECK(piece["index"] == 2);
  CHECK(piece["logprobs"] == json{{"tokens", {"a", R"(bytes:\xe2\x80)"}},
                                  {"token_logprobs", {nullptr, -2}},
                                  {"top_logprobs", {nullptr, {{R"(bytes:\xe2\x80)", -2}, {" b", -1}}}},
                                  {"text_offset", {0, 1}}});
  CHECK(last_piece(other, {})["choices"][0]["logprobs"].is_null());
  CHECK(whole_reply(other, {{.text = "x", .tokens = tokens}}, {})["choices"][0]["logprobs"] == piece["logprobs"]);

  TextReplyEnd all{.prompt_tokens = 5, .reused_tokens = 1, .answer_tokens = 2, .seed = 3};
  all.add({.prompt_tokens = 5, .reused_tokens = 4, .answer_tokens = 7}, true);
  all.add({.prompt_tokens = 6, .answer_tokens = 1}, false);
  CHECK((all.prompt_tokens == 11 && all.reused_tokens == 1 && all.answer_tokens == 10 && all.seed == 3));
}
