#pragma once
// How vectors of texts and of pictures are printed and written.

#include <string>
#include <vector>

#include "tools/cli/commands.h"

namespace vkformer {

using Embeddings = std::vector<std::vector<float>>;

/// A list of numbers; with JSON an object, in which `of` stands under the key `kind` ("text", "file").
void print_embedding(const char* kind, const std::string& of, const std::vector<float>& embedding, bool as_json);
/// As the tensor "embeddings" of a safetensors file, a row each.
void write_embeddings(const std::string& file, const Embeddings& embeddings);

/// `embed` of files of pictures.
void embed_pictures(const EmbedFlags& flags, const std::filesystem::path& folder);

}  // namespace vkformer
