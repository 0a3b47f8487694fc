#include "tools/cli/chat_commands.h"

#include "runtime/check.h"
#include "runtime/files/utf8.h"
#include "tools/cli/output.h"

namespace vkformer {

namespace {

constexpr const char* chat_help =
    "/image FILE    show the model a picture (JPEG, PNG, WebP) with the next question\n"
    "/system TEXT   tell the model something before the conversation; without a text: nothing any more\n"
    "/retry         answer the last question again\n"
    "/undo          take back the last question and its answer\n"
    "/reset         begin a new conversation with the same /system\n"
    "/save FILE     write the conversation as JSON\n"
    "/load FILE     go on with such a conversation\n"
    "/stats         tokens and speed of the last answer\n"
    "/quit          end; so does the end of the input\n"
    "A line that ends with \\ goes on in the next one; lines between two of \"\"\" are one message.\n"
    "Ctrl-C ends an answer.\n";

void say_statistics(const ChatTalk& talk) {
  const ChatStatistics& s = talk.statistics();
  if (s.prompt_tokens == 0) return say("nothing was answered yet");
  say("prompt of {} tokens, {} of them kept from before; first token after {:.1f} ms, then {:.1f} tokens/s ({} "
      "tokens){}",
      s.prompt_tokens, s.reused_tokens, s.seconds_to_first_token * 1e3, s.tokens_per_second, s.answer_tokens,
      guesses_text(talk.speculation()));
}

}  // namespace

ChatStep run_chat_command(ChatTalk& talk, const std::string& message) {
  const size_t blank = message.find_first_of(" \t\n");
  const std::string command = message.substr(0, blank);
  const size_t begin = blank == message.npos ? blank : message.find_first_not_of(" \t\n", blank);
  const std::string rest = begin == message.npos ? std::string() : message.substr(begin);
  ChatHistory& history = talk.history();
  const auto file = [&] {
    check(!rest.empty(), "{} needs a file's name", command);
    return rest;
  };
  if (command == "/help") {
    say_text(chat_help);
  } else if (command == "/image") {
    talk.show(file());
    say("(it comes with the next question)");
  } else if (command == "/system") {
    history.set_system(rest);
    say("({})", rest.empty() ? "no system message" : "system message set");
  } else if (command == "/retry") {
    check(history.drop_answer(), "there is no answer to be tried again");
    return ChatStep::answer;
  } else if (command == "/undo") {
    check(history.drop_turn(), "there is nothing to be taken back");
    say("({} left)", counted(history.turns(), "question"));
  } else if (command == "/reset") {
    history.clear();
    talk.forget_shown();
    say("(a new conversation)");
  } else if (command == "/save") {
    history.save(file());
    say("(saved: {})", printable(rest));
  } else if (command == "/load") {
    ChatHistory loaded = ChatHistory::load(file());
    talk.check_seen(loaded);
    history = std::move(loaded);
    talk.forget_shown();
    say("({})", counted(history.turns(), "question"));
    if (history.turns() > 0 && !history.answered()) return ChatStep::answer;
  } else if (command == "/stats") {
    say_statistics(talk);
  } else if (command == "/quit" || command == "/exit") {
    return ChatStep::quit;
  } else {
    fail("there is no command {}; /help lists those there are", in_quotes(command));
  }
  return ChatStep::wait;
}

}  // namespace vkformer
