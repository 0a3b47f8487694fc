#pragma once
// A text that one connection waits for and the thread of the device writes.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "models/generation/beam_search.h"
#include "models/serving/text_reply.h"

namespace vkformer {

/// What is to be written.
struct TextTask {
  std::vector<int32_t> prompt;
  GenerationConfig config;
  std::unique_ptr<Search> search;  ///< of this prompt and config
  std::vector<std::string> stops;
  bool in_parts = false;  ///< thoughts are no part of the answer, see AnswerParts
  bool reuse = true;      ///< what a cache holds of the prompt
};

class TextJob {
 public:
  explicit TextJob(TextTask what) : task(std::move(what)) {}

  TextTask task;  ///< of the device's thread, once it was handed over

  struct Piece {
    std::string text;
    bool thought = false;
  };

  // The connection's side.
  /// Waits for more, for some seconds: then a piece without text; nothing at the end. Asks `gone` five times a second,
  /// and cancels the job where that is true.
  std::optional<Piece> next(const std::function<bool()>& gone);
  /// Behind the last piece: how it ended. Throws Error where something went wrong.
  TextReplyEnd end() const;
  void cancel() { cancelled_ = true; }

  // The device's side.
  bool cancelled() const { return cancelled_; }
  void write(const std::string& text, bool thought);
  void finish(const TextReplyEnd& end);
  void fail(const std::string& why);

 private:
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();  ///< of the connection's side
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  bool over_ = false;
  std::string failure_;
  TextReplyEnd end_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace vkformer
