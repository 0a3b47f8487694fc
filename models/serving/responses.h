#pragma once
// OpenAI's Responses: the same requests and answers as chat completions', under other names.

#include <nlohmann/json.hpp>

#include "models/serving/reply_form.h"
#include "models/serving/text_request.h"

namespace vkformer {

struct ResponsesRequest {
  TextRequest text;
  nlohmann::json said;  ///< settings, which the reply repeats
};
/// Of the body of POST /v1/responses. Throws Error like parse_chat_request(), and for what would have to be kept
/// between requests.
ResponsesRequest parse_responses_request(std::string_view body);

class ResponsesForm final : public ReplyForm {
 public:
  /// `said`: see ResponsesRequest.
  explicit ResponsesForm(nlohmann::json said) : said_(std::move(said)) {}

  const char* prefix() const override { return "resp_"; }
  nlohmann::json whole(const TextReplyHead& head, const std::vector<TextReply>& replies,
                       const TextReplyEnd& all) override;
  std::string begin(const TextReplyHead& head) override;
  std::string text(const TextReplyHead& head, const std::string& text, bool thought,
                   const std::vector<ReplyToken>& tokens) override;
  std::string call(const TextReplyHead& head, const ToolCall& call, size_t number) override;
  std::string end(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) override;
  std::string failure(const TextReplyHead& head, std::string_view why) override;

 private:
  /// An event: its name, number and fields.
  std::string event(const char* type, nlohmann::json fields);
  /// The same of the item that comes.
  std::string event_of_item(const char* type, nlohmann::json fields);
  std::string event_of_part(const char* type, nlohmann::json fields);
  nlohmann::json response(const TextReplyHead& head, const char* status) const;
  /// The item that comes, whole or as far as it is there.
  nlohmann::json item(const char* status) const;
  nlohmann::json part() const;
  void open(const TextReplyHead& head, bool thought);
  std::string close(const char* status);

  nlohmann::json said_, output_ = nlohmann::json::array();
  int64_t events_ = 0;
  bool open_ = false, thought_ = false;  ///< an item that comes; of thoughts
  std::string id_, text_;                ///< its own
};

}  // namespace vkformer
