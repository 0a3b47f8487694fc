#include "tools/cli/serve/text_service.h"

#include <algorithm>
#include <chrono>
#include <random>

#include "models/chat/message_parts.h"
#include "models/serving/completions_form.h"
#include "models/serving/llama_form.h"
#include "models/serving/messages.h"
#include "models/serving/responses.h"
#include "runtime/check.h"
#include "runtime/files/json_file.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

HttpReply json_reply(const nlohmann::json& json) { return {.body = text_of(json)}; }

/// Where a model knows no such role, what developers tell it is the system's.
void name_roles(nlohmann::ordered_json& messages, const ChatTemplate& chat_template) {
  if (chat_template.mentions("developer")) return;
  for (auto& message : messages)
    if (message["role"] == "developer") message["role"] = "system";
}

/// The most new tokens of each answer: a reply's probabilities are in memory until it is sent, some 400 bytes each.
/// Throws Error where the prompts, or as many tokens as the request names, have more of them.
int64_t most_scored_tokens(const TextRequest& request, const std::vector<std::vector<int32_t>>& prompts) {
  if (!request.likeliest) return INT64_MAX;
  constexpr int64_t most = int64_t{1} << 20;
  const int64_t of_each = *request.likeliest + 1, answers = std::ssize(prompts) * request.choices;
  int64_t given = 0;
  if (request.echo)
    for (const auto& prompt : prompts) given += std::ssize(prompt) * request.choices;
  const int64_t left = (most / of_each - given) / answers, named = request.max_tokens.value_or(1);
  check(given <= most / of_each && named <= left,
        "the request wants {} probabilities of each of up to {} tokens, and {} in all are the most; ask for fewer "
        "answers, tokens (\"max_tokens\") or \"logprobs\"",
        of_each, given + answers * named, most);
  return left;
}

/// `choices`: answers to each prompt.
TextReplyEnd all_of(const std::vector<TextReply>& replies, int64_t choices) {
  TextReplyEnd all = replies.front().end;
  for (size_t i = 1; i < replies.size(); ++i) all.add(replies[i].end, i % static_cast<size_t>(choices) != 0);
  return all;
}

/// Nothing without a template, and where nobody knows how the model calls tools.
std::optional<ToolCallForm> tool_form_of(const ChatSetup* setup, const PromptText& tokenizer,
                                         const AnswerText::Marks& marks) {
  if (!setup) return std::nullopt;
  if (marks.channels) return harmony_call_form;
  const auto form = find_tool_call_form(setup->chat_template, setup->variables);
  return form ? form : known_call_form(setup->chat_template, [&](auto token) { return tokenizer.id_of(token); });
}

}  // namespace

TextService::TextService(TextSlots& slots, const PromptText& tokenizer, Sight& sight, const ChatSetup* setup,
                         GenerationConfig config, bool seeded, int64_t vocabulary, ServedModel served, bool quiet)
    : slots_(slots),
      tokenizer_(tokenizer),
      sight_(sight),
      setup_(setup),
      marks_(AnswerText::find_marks(tokenizer)),
      grammars_(tokenizer),
      tool_form_(tool_form_of(setup, tokenizer, marks_)),
      config_(std::move(config)),
      seeded_(seeded),
      vocabulary_(vocabulary),
      model_(std::move(served)),
      quiet_(quiet) {}

std::optional<HttpReply> TextService::reply(const HttpRequest& request) {
  const auto asked = [&](const char* method, const char* path) { return asks(request, method, path); };
  if (asked("POST", "/v1/chat/completions")) return complete(parse_chat_request(request.body), request);
  if (asked("POST", "/v1/completions")) return complete(parse_completion_request(request.body), request);
  if (asked("POST", "/v1/responses")) {
    ResponsesRequest wanted = parse_responses_request(request.body);
    return answer(wanted.text, std::make_shared<ResponsesForm>(std::move(wanted.said)), request);
  }
  if (asked("POST", "/apply-template")) return json_reply({{"prompt", rendered(parse_chat_request(request.body))}});
  if (asked("POST", "/tokenize")) {
    const JsonObject json = JsonObject::parse(request.body, "the request");
    const std::string text = require_string(json, "content");
    const bool special = boolean_or(json, "add_special", false);
    return json_reply({{"tokens", tokenizer_.encode_line(text, special).ids}});
  }
  if (asked("POST", "/detokenize")) {
    const JsonObject json = JsonObject::parse(request.body, "the request");
    const std::vector<int32_t> ids = token_ids_of(json, "tokens");
    for (const int32_t id : ids) check(id < tokenizer_.size(), "token {} is outside the vocabulary", id);
    return json_reply({{"content", tokenizer_.decode_all(ids)}});
  }
  if (asked("POST", "/v1/messages"))
    return answer(parse_messages_request(request.body), std::make_shared<MessagesForm>(), request);
  if (asked("POST", "/v1/messages/count_tokens")) {
    const std::string prompt = rendered(parse_messages_request(request.body, true));
    return json_reply({{"input_tokens", tokenizer_.encode_as_it_is(prompt).size()}});
  }
  if (asked("POST", "/completion"))
    return answer(parse_llama_request(request.body), std::make_shared<LlamaForm>(), request);
  if (asked("GET", "/props")) return json_reply(props_of(slots_, model_, setup_, config_));
  if (asked("GET", "/slots")) return json_reply(slots_of(slots_));
  if (asked("GET", "/metrics")) return HttpReply{.type = metrics_type, .body = metrics_of(slots_.counts())};
  return std::nullopt;
}

std::string TextService::rendered(const TextRequest& request) const {
  check(setup_ != nullptr,
        "the model has no chat template, so nobody knows how a conversation is written for it; start the server with "
        "--template, or ask /v1/completions");
  Conversation conversation{
      .messages = request.messages, .add_generation_prompt = true, .variables = setup_->variables};
  if (!request.tools.is_null()) {
    check(setup_->chat_template.mentions("tools"), "the model's chat template ({}) has no place for tools",
          setup_->chat_template.name());
    conversation.tools = request.tools;
  }
  conversation.messages = messages_for(setup_->chat_template, std::move(conversation.messages), sight_.mark());
  name_roles(conversation.messages, setup_->chat_template);
  if (setup_->chat_template.mentions("thinking") && !setup_->chat_template.mentions("reasoning_content"))
    for (auto& message : conversation.messages)  // gpt-oss's name
      if (message.contains("reasoning_content") && !message.contains("thinking"))
        message["thinking"] = message["reasoning_content"];
  conversation.variables.update(request.template_variables);
  std::string prompt = setup_->chat_template.render(conversation).text;
  if (request.begun.empty()) return prompt;
  check(
      request.grammar.empty() && !request.must_call,
      "the last message is the assistant's, and an answer that goes on with it can't be held to a form or a call; send "
      "\"continue_final_message\": false");
  const auto parts = AnswerText::parts_of(tokenizer_, tokenizer_.encode_as_it_is(prompt), marks_);
  check(!parts || parts->part() == AnswerPart::answer,
        "the last message is the assistant's, but this model's answers begin with thoughts, or a channel, before they "
        "can go on with a text; turn thoughts off (\"enable_thinking\": false), or send "
        "\"continue_final_message\": false");
  return prompt + request.begun;
}

const ToolCallForm& TextService::tool_form() const {
  check(tool_form_.has_value(),
        "the model's chat template writes no calls of tools, or in a form that is not known, so they can't be told "
        "from its answers");
  return *tool_form_;
}

std::vector<int32_t> TextService::marks_of_calls() const {
  const ToolCallForm& form = tool_form();
  std::vector<int32_t> marks = tokenizer_.encode_as_it_is(form.begin + form.name_end + form.quote + form.end);
  std::erase_if(marks, [this](int32_t id) { return !tokenizer_.is_special(id); });
  return marks;
}

std::string TextService::grammar_of(const TextRequest& request) const {
  if (!request.must_call) return request.grammar;
  std::vector<Tool> tools;
  for (const auto& tool : request.tools) {
    const auto& function = tool["function"];
    const std::string name = function["name"];
    if (request.tool.empty() || request.tool == name)
      tools.push_back({name, function.value("parameters", nlohmann::ordered_json{{"type", "object"}})});
  }
  return gbnf_of_tool_calls(tool_form(), tools, request.several_calls && request.tool.empty());
}

std::vector<TextTask> TextService::tasks_of(const TextRequest& request) {
  const size_t answers = std::max<size_t>(request.prompts.size(), 1) * static_cast<size_t>(request.choices);
  check(answers <= slots_.most_jobs(),
        "the request wants {} answers, and {} have room here; send fewer at a time, or start the server with a larger "
        "--waiting",
        answers, slots_.most_jobs());
  GenerationConfig config = config_;
  if (!seeded_) config.seed = std::random_device{}();
  config = request.over(std::move(config));
  const std::string grammar = grammar_of(request);
  check(!request.must_call || marks_of_calls().empty(),
        "the model marks calls of tools by special tokens, which it can't be held to; take tool_choice \"auto\"");
  std::vector<std::vector<int32_t>> prompts;
  std::vector<SeenPictures::Shown> pictures;
  int64_t shown = 0;
  for (const auto& [bytes, name] : request.pictures) {
    pictures.push_back(sight_.show(std::as_bytes(std::span(bytes)), name));
    shown += SeenPictures::positions_of(pictures.back());
    check(shown < slots_.capacity(),
          "the pictures up to {} take {} positions, the context has {}; send fewer, or smaller ones", name, shown,
          slots_.capacity());
  }
  if (request.chat()) prompts.push_back(sight_.encoded(rendered(request), pictures));
  for (const auto& [text, ids] : request.prompts) {
    for (const int32_t id : ids) check(id < vocabulary_, "token {} is outside the vocabulary of {}", id, vocabulary_);
    prompts.push_back(text.empty()             ? ids
                      : request.special_tokens ? tokenizer_.encode(text)
                                               : tokenizer_.encode_as_it_is(text));
  }
  const int64_t most_tokens = most_scored_tokens(request, prompts);
  config.max_new_tokens = std::min(config.max_new_tokens.value_or(most_tokens), most_tokens);
  std::vector<TextTask> tasks;
  for (size_t p = 0; p < prompts.size(); ++p) {
    check_room(request, prompts[p], prompts.size() > 1 ? fmt::format("prompt {}", p + 1) : "the prompt");
    for (int64_t i = 0; i < request.choices; ++i)
      tasks.push_back(task_of(request, config, grammar, prompts[p], pictures, tasks.size()));
  }
  if (request.echo && request.likeliest)
    for (size_t i = 0; i < tasks.size(); ++i) {
      tasks[i].scored_prompt = echo_of(request, i);
      tasks[i].reuse = false;  // all of it is run
    }
  return tasks;
}

int64_t TextService::room_behind(const std::vector<int32_t>& prompt) const {
  return slots_.capacity() - std::ssize(prompt) + 1;  // the last token need not be run
}

void TextService::check_room(const TextRequest& request, const std::vector<int32_t>& prompt,
                             const std::string& name) const {
  check(room_behind(prompt) >= 1, "{} has {} tokens, the context {} positions; shorten it{}", name, prompt.size(),
        slots_.capacity(),
        slots_.is_longest() ? ", for the model has no more" : ", or start the server with a larger --context");
  check(request.cut_to_room || request.max_tokens.value_or(0) <= room_behind(prompt),
        "{} has {} tokens and the answer may have {}, the context {} positions; ask for fewer", name, prompt.size(),
        request.max_tokens.value_or(0), slots_.capacity());
}

TextTask TextService::task_of(const TextRequest& request, const GenerationConfig& config, const std::string& grammar,
                              std::vector<int32_t> prompt, std::vector<SeenPictures::Shown> pictures, uint64_t answer) {
  TextTask task{.prompt = std::move(prompt),
                .pictures = std::move(pictures),
                .config = config,
                .stops = request.stops,
                .in_parts = request.chat(),
                .reuse = request.cache_prompt,
                .likeliest = request.likeliest,
                .prompt_alone = request.max_tokens == 0};
  task.text = sight_.as_tokens(task.prompt);
  if (task.in_parts) task.marks = marks_;
  if (!request.tools.is_null()) {
    task.marks.calls = true;
    if (!marks_.channels) task.marks.shown = marks_of_calls();
    // Behind a call comes its result, which is not the model's to write.
    if (const auto end = tokenizer_.special_id(harmony_call_form.end); end && marks_.channels)
      task.config.eos_token_ids.push_back(*end);
  }
  task.config.max_new_tokens = std::clamp<int64_t>(*config.max_new_tokens, 1, room_behind(task.prompt));
  if (task.in_parts) marks_.spare_messages(task.config.eos_token_ids);
  if (!grammar.empty()) {
    GrammarConstraint::MakeParts parts;
    if (task.in_parts) parts = [this, prompt = task.text] { return AnswerText::parts_of(tokenizer_, prompt, marks_); };
    task.config.constraint = std::make_shared<GrammarConstraint>(grammars_.find(grammar), task.config.eos_token_ids,
                                                                 false, std::move(parts));
  }
  task.search = make_search(task.config, {task.text}, vocabulary_);
  task.search->set_number(0, answer);  // of one seed each answer has draws of its own
  return task;
}

std::string TextService::echo_of(const TextRequest& request, size_t answer) const {
  if (!request.echo) return {};
  const auto& [text, ids] = request.prompts[answer / static_cast<size_t>(request.choices)];
  return text.empty() ? tokenizer_.decode(ids) : text;
}

HttpReply TextService::complete(const TextRequest& request, const HttpRequest& from) {
  return answer(request, std::make_shared<CompletionsForm>(request.chat(), request.include_usage), from);
}

HttpReply TextService::answer(const TextRequest& request, std::shared_ptr<ReplyForm> form, const HttpRequest& from) {
  const ToolCallReader tools(request.tools.is_null() ? ToolCallReader() : ToolCallReader(tool_form(), request.tools));
  std::vector<TextTask> tasks = tasks_of(request);
  const auto mail = std::make_shared<TextMail>(tasks.size());
  const TextReplyHead head{
      .id = fmt::format("{}{}", form->prefix(), ++answers_),
      .model = model_.name,
      .created =
          std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count(),
      .chat = request.chat(),
      .tokens = request.likeliest.has_value(),
      .prompt_tokens = std::ssize(tasks.front().prompt)};
  // A prompt that is scored comes from there.
  std::vector<TextReply> replies(tasks.size());
  for (size_t i = 0; i < replies.size(); ++i)
    if (!tasks[i].scored_prompt) replies[i].text = echo_of(request, i);
  std::vector<std::unique_ptr<TextJob>> jobs;
  for (TextTask& task : tasks) jobs.push_back(std::make_unique<TextJob>(TextJob{std::move(task), mail, jobs.size()}));
  if (!slots_.submit(std::move(jobs))) return error_of(429, too_many);
  if (request.stream) return stream(request, std::move(form), from, mail, head, std::move(replies), tools);

  std::vector<ToolCallReader> readers(replies.size(), tools);
  const auto take = [](TextReply& reply, const ToolCallReader::Part& part) {
    reply.text += part.text;
    reply.calls.insert(reply.calls.end(), part.calls.begin(), part.calls.end());
  };
  try {
    while (auto piece = mail->next(from.gone)) {
      TextReply& reply = replies[piece->answer];
      if (piece->last) {
        take(reply, readers[piece->answer].end());
        reply.end = mail->end(piece->answer);
        log(from.path, reply.end);
      } else if (piece->thought) {
        reply.thoughts += piece->text;
      } else {
        take(reply, readers[piece->answer].push(piece->text));
        std::ranges::move(piece->tokens, std::back_inserter(reply.tokens));
      }
    }
  } catch (const Error& error) {
    mail->cancel();
    return error_of(500, error.what());
  }
  if (mail->cancelled()) return {.status = 499};  // nobody will read it
  return json_reply(form->whole(head, replies, all_of(replies, request.choices)));
}

HttpReply TextService::stream(const TextRequest& request, std::shared_ptr<ReplyForm> form, const HttpRequest& from,
                              std::shared_ptr<TextMail> mail, const TextReplyHead& head, std::vector<TextReply> replies,
                              const ToolCallReader& tools) {
  HttpReply reply{.type = "text/event-stream", .headers = {{"Cache-Control", "no-cache"}}};
  const auto of_answer = [](TextReplyHead its, size_t answer) {
    its.choice = answer;
    return its;
  };
  for (size_t i = 0; i < replies.size(); ++i) {
    reply.body += form->begin(of_answer(head, i));
    if (!replies[i].text.empty()) reply.body += form->text(of_answer(head, i), replies[i].text, false, {});
  }
  // Of a reply calls are counted here, and tokens kept until their text comes.
  reply.next = [this, mail, form, head, path = from.path, gone = from.gone, choices = request.choices,
                readers = std::vector(replies.size(), tools), replies = std::move(replies), of_answer,
                over = false]() mutable -> std::string {
    const std::string waiting = ":\n\n";  // a comment keeps a connection alive that nothing was said on
    if (over || mail->cancelled()) return {};
    auto piece = mail->next(gone);
    if (mail->cancelled()) return {};
    if (!piece) {
      over = true;
      return form->end_of_all(head, all_of(replies, choices));
    }
    const TextReplyHead its = of_answer(head, piece->answer);
    if (piece->thought) return form->text(its, piece->text, true, {});
    TextReply& its_reply = replies[piece->answer];
    std::ranges::move(piece->tokens, std::back_inserter(its_reply.tokens));
    const auto events_of = [&](const ToolCallReader::Part& part) {
      std::string events;
      if (!part.text.empty() || (piece->last && !its_reply.tokens.empty()))
        events = form->text(its, part.text, false, std::exchange(its_reply.tokens, {}));
      for (const ToolCall& call : part.calls) {
        events += form->call(its, call, its_reply.calls.size());
        its_reply.calls.push_back(call);
      }
      return events;
    };
    if (!piece->last) {
      const std::string events = events_of(readers[piece->answer].push(piece->text));
      return events.empty() ? waiting : events;
    }
    try {
      its_reply.end = mail->end(piece->answer);
      log(path, its_reply.end);
      const std::string events = events_of(readers[piece->answer].end());
      return events + form->end(its, its_reply.end, its_reply.calls.size());
    } catch (const Error& error) {
      over = true;
      mail->cancel();
      return form->failure(its, error.what());
    }
  };
  reply.ended = [mail] { mail->cancel(); };
  return reply;
}

void TextService::log(const std::string& path, const TextReplyEnd& end) const {
  if (quiet_) return;
  say("{}: prompt of {} tokens, {} of them kept from before, in {:.2f} s; {} tokens in {:.2f} s{}", path,
      end.prompt_tokens, end.reused_tokens, end.prompt_seconds, end.answer_tokens, end.answer_seconds,
      end.answer_seconds > 0
          ? fmt::format(": {:.1f} tokens/s", static_cast<double>(end.answer_tokens) / end.answer_seconds)
          : "");
}

}  // namespace vkformer
