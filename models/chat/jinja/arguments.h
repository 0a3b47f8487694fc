#pragma once
// The arguments of a filter, a test, a function or a method, by its parameters' names.

#include <initializer_list>

#include "models/chat/jinja/value.h"

namespace vkformer::jinja {

class Parameters {
 public:
  /// Throws Error, which begins with `what` ("filter 'join'"), for arguments that no parameter takes.
  Parameters(std::string what, const Arguments& arguments, std::initializer_list<std::string_view> names);

  /// nullptr: not given.
  const Value* find(size_t index) const { return values_[index]; }
  /// The same where None means nothing, too.
  const Value* find_or_none(size_t index) const;
  // Throw Error for values of another type, and where there is none.
  const Value& required(size_t index) const;
  const std::string& text(size_t index) const;
  int64_t integer(size_t index) const;
  int64_t integer_or(size_t index, int64_t otherwise) const;
  bool truth_or(size_t index, bool otherwise) const;

 private:
  std::string what_;
  std::vector<std::string_view> names_;
  std::vector<const Value*> values_;
};

}  // namespace vkformer::jinja
