#pragma once
// Texts that one connection waits for and the thread of the device writes.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "models/chat/answer_text.h"
#include "models/generation/beam_search.h"
#include "models/seeing/seen_pictures.h"
#include "models/serving/text_reply.h"

namespace vkformer {

/// What is to be written.
struct TextTask {
  std::vector<int32_t> prompt;
  std::vector<SeenPictures::Shown> pictures = {};  ///< in the prompt
  std::vector<int32_t> text;                       ///< the prompt with tokens in place of pictures
  GenerationConfig config;
  std::unique_ptr<Search> search;  ///< of this text and config
  std::vector<std::string> stops;
  bool in_parts = false;                  ///< thoughts are no part of the answer, see AnswerParts
  AnswerText::Marks marks = {};           ///< by which they are told
  bool reuse = true;                      ///< what a cache holds of the prompt
  std::optional<int64_t> likeliest = {};  ///< see TextRequest
  /// The prompt's text is part of the answer; with `likeliest` it is written here, with its tokens.
  std::optional<std::string> scored_prompt = {};
  bool prompt_alone = false;  ///< nothing is written behind it
};

/// What comes of the answers to one request, for the connection that waits for them.
class TextMail {
 public:
  explicit TextMail(size_t answers) : ends_(answers), failures_(answers), ended_(answers), left_(answers) {}

  struct Piece {
    size_t answer = 0;
    std::string text;
    bool thought = false;
    std::vector<ReplyToken> tokens = {};
    bool last = false;  ///< of its answer: how that ended is known
  };

  // The connection's side.
  /// Waits for more, for some seconds: then a piece without text; nothing at the end. Asks `gone` five times a second,
  /// and cancels the answers where that is true.
  std::optional<Piece> next(const std::function<bool()>& gone);
  /// Behind its last piece: how an answer ended. Throws Error where something went wrong.
  TextReplyEnd end(size_t answer) const;
  void cancel() { cancelled_ = true; }
  bool cancelled() const { return cancelled_; }

  // The device's side.
  void write(Piece piece);
  /// An answer ends; `failure`: why it could not, or "".
  void finish(size_t answer, const TextReplyEnd& end, const std::string& failure);

 private:
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();  ///< of the connection's side
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  std::vector<TextReplyEnd> ends_;
  std::vector<std::string> failures_;
  std::vector<bool> ended_;
  size_t left_;  ///< that have not ended
  std::atomic<bool> cancelled_ = false;
};

/// An answer to be written.
struct TextJob {
  TextTask task;  ///< of the device's thread, once it was handed over
  std::shared_ptr<TextMail> mail;
  size_t answer = 0;

  bool cancelled() const { return mail->cancelled(); }
  void write(const std::string& text, bool thought, std::vector<ReplyToken> tokens = {}) const {
    mail->write({.answer = answer, .text = text, .thought = thought, .tokens = std::move(tokens)});
  }
  void finish(const TextReplyEnd& end) const { mail->finish(answer, end, {}); }
  void fail(const std::string& why) const { mail->finish(answer, {}, why); }
};

}  // namespace vkformer
