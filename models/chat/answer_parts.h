#pragma once
// What a token of an answer belongs to: models write thoughts, too, and what names them.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

enum class AnswerPart : uint8_t {
  header,   ///< names a part, or a mark
  thought,  ///< what the model tells itself
  answer,   ///< what was asked for
  call,     ///< arguments of a tool, where a header names it
};

/// Tells of one answer's tokens, in order, what they are part of.
class AnswerParts {
 public:
  virtual ~AnswerParts() = default;
  /// What the next token is, unless it is a mark.
  virtual AnswerPart part() const = 0;
  /// What this one is.
  virtual AnswerPart take(int32_t id) = 0;
  /// Of a call, the tool.
  virtual std::string called() const { return {}; }
};

}  // namespace vkformer
