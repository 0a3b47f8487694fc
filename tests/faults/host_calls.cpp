// Large allocations of C++ code, and threads.

#include <pthread.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "tests/faults/faults.h"

namespace {

constexpr size_t page = 4096;

void* allocate(size_t size, size_t alignment, void* caller) {
  if (size > page && faults::is_ours(caller) && faults::strikes(faults::Kind::allocation, "operator new"))
    return nullptr;
  if (alignment == 0) return std::malloc(size > 0 ? size : 1);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(size_t size, size_t alignment, void* caller) {
  if (void* memory = allocate(size, alignment, caller)) return memory;
  throw std::bad_alloc();
}

}  // namespace

#define CALLER __builtin_return_address(0)
using Alignment = std::align_val_t;
using Quiet = const std::nothrow_t&;

void* operator new(size_t n) { return allocate_or_throw(n, 0, CALLER); }
void* operator new[](size_t n) { return allocate_or_throw(n, 0, CALLER); }
void* operator new(size_t n, Alignment a) { return allocate_or_throw(n, static_cast<size_t>(a), CALLER); }
void* operator new[](size_t n, Alignment a) { return allocate_or_throw(n, static_cast<size_t>(a), CALLER); }
void* operator new(size_t n, Quiet) noexcept { return allocate(n, 0, CALLER); }
void* operator new[](size_t n, Quiet) noexcept { return allocate(n, 0, CALLER); }
void* operator new(size_t n, Alignment a, Quiet) noexcept { return allocate(n, static_cast<size_t>(a), CALLER); }
void* operator new[](size_t n, Alignment a, Quiet) noexcept { return allocate(n, static_cast<size_t>(a), CALLER); }

void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }
void operator delete(void* memory, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, Alignment) noexcept { std::free(memory); }
void operator delete(void* memory, size_t, Alignment) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t, Alignment) noexcept { std::free(memory); }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*),
                              void* argument) noexcept {
  static const auto next = faults::next<decltype(&pthread_create)>("pthread_create");
  if (CALLED_BY_US && faults::strikes(faults::Kind::allocation, "pthread_create")) return EAGAIN;
  return next(thread, attributes, body, argument);
}
