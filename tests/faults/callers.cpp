// Whose call it is.

#include <execinfo.h>
#include <link.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "tests/faults/faults.h"

namespace faults {

namespace {

struct Range {
  uintptr_t begin = 0, end = 0;
  bool has(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= begin && at < end;
  }
};

struct Ranges {
  Range program;
  std::array<Range, 8> passing;  ///< code that calls for others: of the language and of sanitizers
  size_t passing_count = 0;      // nothing to destroy: calls go on after main

  Ranges() {
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* to) {
          static_cast<Ranges*>(to)->add(*info);
          return 0;
        },
        this);
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads the unwinder, which allocates
  }

  void add(const dl_phdr_info& info) {
    Range range{UINTPTR_MAX, 0};
    for (int i = 0; i < info.dlpi_phnum; ++i) {
      const auto& part = info.dlpi_phdr[i];
      if (part.p_type != PT_LOAD) continue;
      range.begin = std::min<uintptr_t>(range.begin, info.dlpi_addr + part.p_vaddr);
      range.end = std::max<uintptr_t>(range.end, info.dlpi_addr + part.p_vaddr + part.p_memsz);
    }
    const std::string_view name = info.dlpi_name;
    if (name.empty() && program.end == 0) program = range;  // the first has no name, nor has the kernel's part
    for (const char* library :
         {"/libstdc++.so", "/libc.so", "/libasan.so", "/liblsan.so", "/libubsan.so", "/libfmt.so"})
      if (name.find(library) != name.npos) passing.at(passing_count++) = range;
  }

  bool passes(const void* address) const {
    return std::any_of(passing.begin(), passing.end(), [address](const Range& range) { return range.has(address); });
  }
};

}  // namespace

bool is_ours(void* caller) {
  static thread_local bool looking = false;  // looking may call what is counted
  if (looking) return false;
  looking = true;
  static const Ranges ranges;
  bool ours = false;
  if (ranges.program.has(caller) || ranges.passes(caller)) {
    // All the way up: what the compiler made of the C++ library's templates in the program serves drivers, too.
    std::array<void*, 64> frames;
    const auto end = frames.begin() + backtrace(frames.data(), static_cast<int>(frames.size()));
    const auto begin = std::find(frames.begin(), end, caller);
    ours = std::any_of(begin, end, [](void* at) { return ranges.program.has(at); }) &&
           std::all_of(begin, end, [](void* at) { return ranges.program.has(at) || ranges.passes(at); });
  }
  looking = false;
  return ours;
}

}  // namespace faults
