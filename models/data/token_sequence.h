#pragma once
// A text as token ids, in memory or in a file that is mapped and never read as a whole.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/files/mapped_file.h"

namespace vkformer {

class TokenSequence {
 public:
  TokenSequence() = default;
  TokenSequence(std::vector<int32_t> ids);  // NOLINT: ids are a sequence
  /// Of a token file: a safetensors file with the one tensor "ids" as write_tokens() makes it or, if its name ends in
  /// ".bin", nothing but 16-bit ids, as nanoGPT's prepare.py writes them. Throws Error for anything else.
  TokenSequence(std::shared_ptr<const MappedFile> file, const std::string& name);
  /// Whether a file of this name is such a file.
  static bool is_name(const std::filesystem::path& name);

  int64_t size() const { return static_cast<int64_t>(bytes_.size() / width_); }
  /// Ids from `first` on; they must be there.
  void read(int64_t first, std::span<int32_t> out) const;
  /// Ids from `first` on, of the same memory or file. They must be there.
  TokenSequence part(int64_t first, int64_t count) const;
  /// Calls `use` with all ids in their order, some at a time: a token file may be larger than memory.
  void in_parts(const std::function<void(std::span<const int32_t>)>& use) const;
  /// One more than the largest id.
  int64_t largest_size() const;
  /// Fingerprint of the tokenizer.json that made the ids; empty: unknown.
  const std::string& tokenizer() const { return tokenizer_; }

 private:
  std::shared_ptr<const void> owner_;  ///< of the bytes
  std::span<const std::byte> bytes_;
  size_t width_ = sizeof(int32_t);  ///< bytes of an id
  std::string tokenizer_;
};

/// Writes a token file, atomically: 16 bits an id where `vocabulary` allows, else 32. Throws Error.
void write_tokens(const std::filesystem::path& file, std::span<const int32_t> ids, int64_t vocabulary,
                  const std::string& tokenizer);

}  // namespace vkformer
