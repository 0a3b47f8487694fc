#pragma once
// FNV-1a, to tell contents apart: fingerprints and names of files, nothing that must resist an attack.

#include <cstdint>
#include <string_view>

namespace vkformer {

constexpr uint64_t hash_start = 14695981039346656037ULL;

constexpr uint64_t hash_step(uint64_t hash, uint64_t word) { return (hash ^ word) * 1099511628211ULL; }

/// Ends with a mark, so that "a", "b" and "ab", "" differ.
constexpr uint64_t hash_text(uint64_t hash, std::string_view text) {
  for (char c : text) hash = hash_step(hash, static_cast<uint8_t>(c));
  return hash_step(hash, 256);
}

}  // namespace vkformer
