#pragma once
// What a server of a model that writes text answers at which address.

#include "models/seeing/sight.h"
#include "models/serving/reply_form.h"
#include "models/serving/text_request.h"
#include "tools/cli/serve/answer_grammars.h"
#include "tools/cli/serve/service.h"
#include "tools/cli/serve/text_info.h"

namespace vkformer {

class TextService final : public Service {
 public:
  /// What is given must outlive this object. `sight`: of the model. `setup`: nothing where the model has no template of
  /// conversations. `seeded`: requests without a seed take that of `config`, not a new one.
  TextService(TextSlots& slots, const PromptText& tokenizer, Sight& sight, const ChatSetup* setup,
              GenerationConfig config, bool seeded, int64_t vocabulary, ServedModel served, bool quiet);

  std::optional<HttpReply> reply(const HttpRequest& request) override;
  std::string_view addresses() const override {
    return "/v1/chat/completions, /v1/completions, /v1/responses, /v1/messages and /completion";
  }
  void run(const std::function<bool()>& ended) override { slots_.run(ended); }

 private:
  const ToolCallForm& tool_form() const;
  /// Special tokens around calls.
  std::vector<int32_t> marks_of_calls() const;
  std::string grammar_of(const TextRequest& request) const;  ///< of the answer, "" for any
  /// Of each answer that the request wants.
  std::vector<TextTask> tasks_of(const TextRequest& request);
  TextTask task_of(const TextRequest& request, const GenerationConfig& config, const std::string& grammar,
                   std::vector<int32_t> prompt, std::vector<SeenPictures::Shown> pictures, uint64_t answer);
  /// Tokens that a text may have behind a prompt.
  int64_t room_behind(const std::vector<int32_t>& prompt) const;
  /// Throws Error where a prompt and what is asked for behind it have no room; `name`: of the prompt, for people.
  void check_room(const TextRequest& request, const std::vector<int32_t>& prompt, const std::string& name) const;
  /// What stands before an answer, if that is asked for.
  std::string echo_of(const TextRequest& request, size_t answer) const;
  std::string rendered(const TextRequest& request) const;
  HttpReply complete(const TextRequest& request, const HttpRequest& from);
  HttpReply answer(const TextRequest& request, std::shared_ptr<ReplyForm> form, const HttpRequest& from);
  HttpReply stream(const TextRequest& request, std::shared_ptr<ReplyForm> form, const HttpRequest& from,
                   std::shared_ptr<TextMail> mail, const TextReplyHead& head, std::vector<TextReply> replies,
                   const ToolCallReader& tools);
  void log(const std::string& path, const TextReplyEnd& end) const;

  TextSlots& slots_;
  const PromptText& tokenizer_;
  Sight& sight_;
  const ChatSetup* setup_;
  AnswerText::Marks marks_;
  AnswerGrammars grammars_;
  std::optional<ToolCallForm> tool_form_;  ///< as the template writes calls
  GenerationConfig config_;
  bool seeded_;
  int64_t vocabulary_;
  ServedModel model_;
  bool quiet_;
  std::atomic<uint64_t> answers_ = 0;
};

}  // namespace vkformer
