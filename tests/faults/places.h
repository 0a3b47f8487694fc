#pragma once
// Where calls that can fail are made: a place is a chain of callers. A program makes thousands of such calls from some
// hundred places, and what a failure leads to is much the same for all calls of one.

#include <cstddef>
#include <cstdint>
#include <string>

namespace faults {

/// Notes the n-th call of a kind. Does not allocate.
void note_place(size_t kind, uint64_t n);

/// "place device-memory 3 17" a line: a kind, and the first and last call of it from one place.
std::string places(const char* const* kinds);

}  // namespace faults
