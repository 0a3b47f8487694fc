// libFuzzer calls LLVMFuzzerTestOneInput.

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "tests/fuzz/readers.h"

namespace {

/// VKFORMER_READER names it.
const fuzz::Reader& chosen() {
  const std::string_view name = std::getenv("VKFORMER_READER") ? std::getenv("VKFORMER_READER") : "";
  std::string names;
  for (const auto& readers : {fuzz::readers_of_models, fuzz::readers_of_data, fuzz::readers_of_runs})
    for (const fuzz::Reader& reader : readers) {
      if (reader.name == name) return reader;
      names += ' ' + std::string(reader.name);
    }
  std::cerr << "VKFORMER_READER must be one of" << names << '\n';
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Reader& reader = chosen();
  // In memory of its own, so that reads past the end are seen.
  const std::vector<char> exact(data, data + size);
  try {
    reader.read({exact.data(), exact.size()});
  } catch (const vkformer::Error& error) {
    const std::string_view message = error.what();
    fuzz::require(!message.empty() && message.size() < 1000 && message.find_first_of("\r\n") == message.npos);
  }
  return 0;
}
