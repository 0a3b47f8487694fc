#include "runtime/host/lost_pages.h"

#include <cstdio>

#include "runtime/host/windows/win32.h"

namespace vkformer::host {

namespace {

/// Windows lets nobody cut a mapped file short; but a network's drive or a stick goes away.
LONG CALLBACK lost_page(EXCEPTION_POINTERS* exception) {
  const EXCEPTION_RECORD& record = *exception->ExceptionRecord;
  if (record.ExceptionCode != EXCEPTION_IN_PAGE_ERROR) return EXCEPTION_CONTINUE_SEARCH;
  static wchar_t name[4096];
  const DWORD length = GetMappedFileNameW(GetCurrentProcess(), reinterpret_cast<void*>(record.ExceptionInformation[1]),
                                          name, static_cast<DWORD>(std::size(name)));
  const std::string file = length > 0 ? utf8_of({name, length}) : "a file in memory";
  std::fprintf(stderr, "vkformer: %s can't be read any more (its disk was removed, or the network failed); try again\n",
               file.c_str());
  std::fflush(stderr);
  TerminateProcess(GetCurrentProcess(), 1);
  return EXCEPTION_CONTINUE_SEARCH;
}

}  // namespace

void name_lost_pages() { AddVectoredExceptionHandler(1, lost_page); }

}  // namespace vkformer::host
