#include "tests/faults/places.h"

#include <execinfo.h>

#include <array>
#include <mutex>

namespace faults {

namespace {

struct Place {
  uint64_t callers = 0;  ///< hashed; 0 for none
  size_t kind = 0;
  uint64_t first = 0, last = 0;
};

/// A hash table, twice as large as what has been seen.
std::array<Place, 1 << 14> table;
std::mutex mutex;

uint64_t hash(size_t kind) {
  std::array<void*, 64> frames;
  const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
  uint64_t result = 0xcbf29ce484222325 + kind;  // FNV-1a, of words
  for (int i = 0; i < count; ++i) result = (result ^ reinterpret_cast<uintptr_t>(frames[i])) * 0x100000001b3;
  return result | 1;
}

}  // namespace

void note_place(size_t kind, uint64_t n) {
  const uint64_t callers = hash(kind);
  const std::lock_guard lock(mutex);
  for (size_t i = 0; i < table.size(); ++i) {
    Place& place = table[(callers + i) % table.size()];
    if (place.callers == 0) place = {callers, kind, n, n};
    if (place.callers != callers) continue;
    place.last = n;
    return;
  }
}

std::string places(const char* const* kinds) {
  std::string text;
  for (const Place& place : table)
    if (place.callers != 0)
      text += std::string("place ") + kinds[place.kind] + " " + std::to_string(place.first) + " " +
              std::to_string(place.last) + "\n";
  return text;
}

}  // namespace faults
