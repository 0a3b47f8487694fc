#include "tools/cli/serve/speech_service.h"

#include "models/audio/audio_file.h"
#include "models/audio/audio_reader.h"
#include "models/serving/speech_reply.h"
#include "runtime/check.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"

namespace vkformer {

std::optional<HttpReply> SpeechService::reply(const HttpRequest& request) {
  if (asks(request, "POST", "/v1/audio/transcriptions")) return answer(request, false);
  if (asks(request, "POST", "/v1/audio/translations")) return answer(request, true);
  if (asks(request, "GET", "/metrics")) return HttpReply{.type = metrics_type, .body = metrics()};
  return std::nullopt;
}

HttpReply SpeechService::answer(const HttpRequest& request, bool translate) {
  check(request.form.has_value(), "the form can't be read to its end; send multipart/form-data, as curl -F does");
  const SpeechRequest asked = parse_speech_request(*request.form, translate);
  transcriber_.check_task(asked.task);
  const auto audio = std::as_bytes(std::span(asked.audio));
  const AudioReader readable(audio, asked.name);  // what is no audio need not wait to be refused
  SpeechReply reply;
  std::string damage;
  double seconds = 0;
  const auto refused = queue_.have_done(request, [&](const auto& check_wanted) {
    std::vector<float> samples;
    try {  // when its turn has come: an hour is 230 MB
      samples = decode_audio(audio, asked.name, rate_, check_wanted);
    } catch (const Error& error) {
      check_wanted();
      damage = error.what();
      return;
    }
    const double start = now();
    reply.seconds = static_cast<double>(samples.size()) / static_cast<double>(rate_);
    reply.language = transcriber_.transcribe(
        samples, asked.task, [&](const SpeechSegment& segment) { reply.segments.push_back(segment); },
        [&](double) { check_wanted(); });
    seconds = now() - start;
  });
  if (refused) return *refused;
  check(damage.empty(), "{}", damage);
  if (reply.language.empty()) reply.language = "en";  // the one of models that tell none
  ++written_;
  heard_seconds_ += reply.seconds;
  seconds_ += seconds;
  if (!quiet_) say("{}: {:.1f} s of sound in {:.2f} s", request.path, reply.seconds, seconds);
  return {.type = media_type(asked.format), .body = body_of(reply, asked)};
}

std::string SpeechService::metrics() const {
  const auto [busy, waiting] = queue_.counts();
  return metric_text("requests_total", "counter", "Recordings that were written down.",
                     static_cast<double>(written_.load())) +
         metric_text("audio_seconds_total", "counter", "Seconds that they last.", heard_seconds_) +
         metric_text("transcription_seconds_total", "counter", "Seconds that took.", seconds_) +
         metric_text("requests_processing", "gauge", "Recordings that are being written down.",
                     static_cast<double>(busy)) +
         metric_text("requests_deferred", "gauge", "Recordings that wait for that.", static_cast<double>(waiting));
}

}  // namespace vkformer
