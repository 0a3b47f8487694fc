#pragma once
// llama.cpp's own completions.

#include "models/serving/reply_form.h"
#include "models/serving/text_request.h"

namespace vkformer {

/// Of the body of POST /completion: like parse_completion_request(), but for what this form has no place for.
TextRequest parse_llama_request(std::string_view body);

class LlamaForm final : public ReplyForm {
 public:
  const char* prefix() const override { return "cmpl-"; }
  /// An object, of several replies a list of them.
  nlohmann::json whole(const TextReplyHead& head, const std::vector<TextReply>& replies,
                       const TextReplyEnd& all) override;
  std::string text(const TextReplyHead& head, const std::string& text, bool thought,
                   const std::vector<ReplyToken>& tokens) override;
  std::string call(const TextReplyHead&, const ToolCall&, size_t) override { return {}; }
  std::string end(const TextReplyHead& head, const TextReplyEnd& end, size_t calls) override;
  std::string failure(const TextReplyHead& head, std::string_view why) override;
};

/// How tokens are chosen where a request is silent, by llama.cpp's names.
nlohmann::json llama_params(const GenerationConfig& config);

}  // namespace vkformer
