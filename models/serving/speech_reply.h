#pragma once
// What a server answers to a SpeechRequest.

#include <string>
#include <vector>

#include "models/serving/speech_request.h"

namespace vkformer {

/// A recording that was written down.
struct SpeechReply {
  double seconds = 0;  ///< of the recording
  std::string language;
  std::vector<SpeechSegment> segments;
};

/// A body in the form that was asked for.
std::string body_of(const SpeechReply& reply, const SpeechRequest& request);
/// Its media type.
const char* media_type(SpeechFormat format);

}  // namespace vkformer
