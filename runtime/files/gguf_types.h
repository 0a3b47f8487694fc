#pragma once
// What reading and writing GGUF share.

#include <cstdint>
#include <string_view>

namespace vkformer {

inline constexpr std::string_view gguf_magic = "GGUF";
/// Of tensors in bytes, where the metadata have no general.alignment.
inline constexpr int64_t gguf_alignment = 32;

/// Types of metadata, with their numbers in the file.
enum class GgufType : uint32_t { u8, i8, u16, i16, u32, i32, f32, boolean, text, array, u64, i64, f64 };

}  // namespace vkformer
