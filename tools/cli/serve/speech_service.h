#pragma once
// A server that writes down speech.

#include "models/transcription/transcriber.h"
#include "tools/cli/serve/device_queue.h"

namespace vkformer {

class SpeechService final : public Service {
 public:
  /// What is given must outlive this object. `rate`: of what the transcriber hears, in Hz. `quiet`: no line for each
  /// recording.
  SpeechService(Transcriber& transcriber, int64_t rate, int64_t most_waiting, bool quiet)
      : transcriber_(transcriber), rate_(rate), quiet_(quiet), queue_(most_waiting) {}

  std::optional<HttpReply> reply(const HttpRequest& request) override;
  std::string_view addresses() const override { return "/v1/audio/transcriptions and /v1/audio/translations"; }
  void run(const std::function<bool()>& ended) override { queue_.run(ended); }

 private:
  HttpReply answer(const HttpRequest& request, bool translate);
  std::string metrics() const;

  Transcriber& transcriber_;
  int64_t rate_;
  bool quiet_;
  DeviceQueue queue_;
  std::atomic<int64_t> written_ = 0;  ///< recordings
  std::atomic<double> heard_seconds_ = 0, seconds_ = 0;
};

}  // namespace vkformer
