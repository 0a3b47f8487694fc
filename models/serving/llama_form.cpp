#include "models/serving/llama_form.h"

#include "runtime/check.h"

namespace vkformer {

namespace {

using nlohmann::json;

json last_of(const TextReplyHead& head, size_t index, const std::string& text, const TextReplyEnd& end) {
  return {{"index", index},
          {"content", text},
          {"stop", true},
          {"model", head.model},
          {"stop_type", end.cut            ? "limit"
                        : end.stop.empty() ? "eos"
                                           : "word"},
          {"stopping_word", end.stop},
          {"tokens_predicted", end.answer_tokens},
          {"tokens_evaluated", end.prompt_tokens},
          {"tokens_cached", end.reused_tokens},
          {"truncated", false},
          {"seed", end.seed},
          {"timings", timings_of(end)}};
}

}  // namespace

TextRequest parse_llama_request(std::string_view body) {
  TextRequest request = parse_completion_request(body);
  check(!request.likeliest, "\"logprobs\" are not in llama.cpp's form; /v1/completions has them");
  return request;
}

json LlamaForm::whole(const TextReplyHead& head, const std::vector<TextReply>& replies, const TextReplyEnd&) {
  json all = json::array();
  for (const TextReply& reply : replies) all.push_back(last_of(head, all.size(), reply.text, reply.end));
  return all.size() == 1 ? all[0] : all;
}

std::string LlamaForm::text(const TextReplyHead& head, const std::string& text, bool, const std::vector<ReplyToken>&) {
  return event_of({{"index", head.choice}, {"content", text}, {"stop", false}});
}

std::string LlamaForm::end(const TextReplyHead& head, const TextReplyEnd& end, size_t) {
  return event_of(last_of(head, head.choice, "", end));
}

std::string LlamaForm::failure(const TextReplyHead&, std::string_view why) { return event_of(error_reply(500, why)); }

json llama_params(const GenerationConfig& config) {
  const RecentPenalties& recent = config.recent_penalties;
  return {{"n_predict", config.max_new_tokens.value_or(-1)},
          {"temperature", config.do_sample ? config.temperature : 0},
          {"top_k", config.top_k},
          {"top_p", config.top_p},
          {"min_p", config.min_p},
          {"repeat_penalty", recent.repeat != 1 ? recent.repeat : config.repetition_penalty},
          {"repeat_last_n", recent.last},
          {"presence_penalty", recent.presence},
          {"frequency_penalty", recent.frequency}};
}

}  // namespace vkformer
