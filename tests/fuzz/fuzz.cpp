// libFuzzer calls LLVMFuzzerTestOneInput with what LLVMFuzzerCustomMutator made of an earlier input.

#include <algorithm>
#include <iostream>
#include <random>
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

/// Repeats a part of the input until it has a random size up to `most`: what grows faster than it should becomes slow.
size_t grow(char* data, size_t size, size_t most, std::minstd_rand& draws) {
  const auto below = [&](size_t limit) { return std::uniform_int_distribution<size_t>(0, limit - 1)(draws); };
  const size_t begin = below(size), length = 1 + below(std::min(size - begin, size_t{1} << below(12)));
  const std::string part(data + begin, length), rest(data + begin + length, size - begin - length);
  std::string grown(data, begin + length);
  for (const size_t wanted = size + below(most - size + 1); grown.size() + length + rest.size() <= wanted;)
    grown += part;
  grown += rest;
  std::ranges::copy(grown, data);
  return grown.size();
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

/// One in a hundred grows.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  std::minstd_rand draws(seed);
  if (size == 0 || size >= most || draws() % 100 != 0) return LLVMFuzzerMutate(data, size, most);
  return grow(reinterpret_cast<char*>(data), size, most, draws);
}

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
