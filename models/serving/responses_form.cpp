#include <fmt/format.h>

#include "models/serving/responses.h"

namespace vkformer {

namespace {
using nlohmann::json;
}

json ResponsesForm::response(const TextReplyHead& head, const char* status) const {
  json response = said_;
  response.update({{"id", head.id},
                   {"object", "response"},
                   {"created_at", head.created},
                   {"model", head.model},
                   {"status", status},
                   {"output", output_},
                   {"error", nullptr},
                   {"incomplete_details", nullptr},
                   {"usage", nullptr}});
  return response;
}

std::string ResponsesForm::event(const char* type, json fields) {
  fields["type"] = type;
  fields["sequence_number"] = events_++;
  return fmt::format("event: {}\n{}", type, event_of(fields));
}

std::string ResponsesForm::event_of_item(const char* type, json fields) {
  fields["output_index"] = output_.size();
  return event(type, std::move(fields));
}

std::string ResponsesForm::event_of_part(const char* type, json fields) {
  fields["item_id"] = id_;
  fields["content_index"] = 0;
  return event_of_item(type, std::move(fields));
}

json ResponsesForm::part() const {
  if (thought_) return {{"type", "reasoning_text"}, {"text", text_}};
  return {{"type", "output_text"}, {"text", text_}, {"annotations", json::array()}, {"logprobs", json::array()}};
}

json ResponsesForm::item(const char* status) const {
  json item{{"id", id_}, {"status", status}, {"content", json::array()}};
  if (!open_) item["content"].push_back(part());
  if (thought_) {
    item["type"] = "reasoning";
    item["summary"] = json::array();
  } else {
    item["type"] = "message";
    item["role"] = "assistant";
  }
  return item;
}

void ResponsesForm::open(const TextReplyHead& head, bool thought) {
  open_ = true;
  thought_ = thought;
  text_.clear();
  id_ = fmt::format("{}_{}_{}", thought ? "rs" : "msg", head.id.substr(head.id.find('_') + 1), output_.size());
}

std::string ResponsesForm::close(const char* status) {
  if (!open_) return {};
  open_ = false;
  json text{{"text", text_}};
  if (!thought_) text["logprobs"] = json::array();
  std::string events =
      event_of_part(thought_ ? "response.reasoning_text.done" : "response.output_text.done", std::move(text));
  events += event_of_part("response.content_part.done", {{"part", part()}});
  events += event_of_item("response.output_item.done", {{"item", item(status)}});
  output_.push_back(item(status));
  return events;
}

std::string ResponsesForm::begin(const TextReplyHead& head) {
  const json begun{{"response", response(head, "in_progress")}};
  std::string events = event("response.created", begun);
  events += event("response.in_progress", begun);
  return events;
}

std::string ResponsesForm::text(const TextReplyHead& head, const std::string& text, bool thought,
                                const std::vector<ReplyToken>&) {
  std::string events;
  if (open_ && thought != thought_) events += close("completed");
  if (!open_) {
    open(head, thought);
    events += event_of_item("response.output_item.added", {{"item", item("in_progress")}});
    events += event_of_part("response.content_part.added", {{"part", part()}});
  }
  text_ += text;
  json delta{{"delta", text}};
  if (!thought) delta["logprobs"] = json::array();
  return events +
         event_of_part(thought ? "response.reasoning_text.delta" : "response.output_text.delta", std::move(delta));
}

std::string ResponsesForm::call(const TextReplyHead& head, const ToolCall& call, size_t number) {
  const std::string before = close("completed"), id = id_of_call(head, number), item_id = "fc_" + id;
  json item{{"type", "function_call"}, {"id", item_id},   {"call_id", id},
            {"name", call.name},       {"arguments", ""}, {"status", "in_progress"}};
  std::string events = before + event_of_item("response.output_item.added", {{"item", item}});
  item["arguments"] = call.arguments;
  item["status"] = "completed";
  events += event_of_item("response.function_call_arguments.delta", {{"item_id", item_id}, {"delta", call.arguments}});
  events += event_of_item("response.function_call_arguments.done",
                          {{"item_id", item_id}, {"name", call.name}, {"arguments", call.arguments}});
  events += event_of_item("response.output_item.done", {{"item", item}});
  output_.push_back(std::move(item));
  return events;
}

std::string ResponsesForm::end(const TextReplyHead& head, const TextReplyEnd& end, size_t) {
  const char* status = end.cut ? "incomplete" : "completed";
  std::string events;
  if (!open_ && output_.empty()) events = text(head, "", false, {});  // an answer has an item
  events += close(status);
  json whole = response(head, status);
  if (end.cut) whole["incomplete_details"] = {{"reason", "max_output_tokens"}};
  whole["usage"] = {{"input_tokens", end.prompt_tokens},
                    {"input_tokens_details", {{"cached_tokens", end.reused_tokens}}},
                    {"output_tokens", end.answer_tokens},
                    {"output_tokens_details", {{"reasoning_tokens", end.thought_tokens}}},
                    {"total_tokens", end.prompt_tokens + end.answer_tokens}};
  whole["timings"] = timings_of(end);
  whole["seed"] = end.seed;
  said_ = whole;
  return events + event(end.cut ? "response.incomplete" : "response.completed", {{"response", std::move(whole)}});
}

json ResponsesForm::whole(const TextReplyHead& head, const std::vector<TextReply>& replies, const TextReplyEnd&) {
  const TextReply& reply = replies.front();
  if (!reply.thoughts.empty()) text(head, reply.thoughts, true, {});
  if (!reply.text.empty()) text(head, reply.text, false, {});
  for (size_t i = 0; i < reply.calls.size(); ++i) call(head, reply.calls[i], i);
  end(head, reply.end, reply.calls.size());
  return said_;
}

std::string ResponsesForm::failure(const TextReplyHead& head, std::string_view why) {
  const std::string events = close("incomplete");
  json failed = response(head, "failed");
  failed["error"] = {{"code", "server_error"}, {"message", why}};
  return events + event("response.failed", {{"response", std::move(failed)}});
}

}  // namespace vkformer
