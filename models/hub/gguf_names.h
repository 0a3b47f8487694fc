#pragma once
// What the names of GGUF files tell: their type of blocks, shards, and what sees pictures beside what writes.

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

/// Of eyes: "mmproj" is in its name, as llama.cpp tells them.
bool is_mmproj_name(std::string_view name);
/// Whether it is of this type, as "model-Q4_K_M.gguf", "Q4_K_M/model-00001-of-00002.gguf" or "model.q4_k_m.gguf" are.
bool has_quant(std::string_view name, std::string_view quant);
/// "model-00001-of-00003.gguf" becomes "model"; of a file that is no shard what stands before ".gguf".
std::string_view without_shard(std::string_view name);
/// A shard that is not the first.
bool is_later_shard(std::string_view name);

/// Of GGUF files (those of eyes are left out) the names of the one that is meant, all its shards in their order: the
/// one of the type `quant`, or without that of Q4_K_M, or else the only one. The shortest name of several. Throws
/// Error, with the names there are, when none is meant.
std::vector<std::string> meant_gguf(std::span<const std::string> names, std::string_view quant);

}  // namespace vkformer
