#pragma once
// What Hugging Face's hub says of a model's files, and which of them are wanted of it.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vkformer {

struct HubFile {
  std::string path;  ///< in the model, "1_Pooling/config.json"
  uint64_t size = 0;
  std::string id;  ///< of its content: SHA-256 of a large file, git's SHA-1 of others, in hexadecimal digits
};

struct HubListing {
  std::string commit;
  std::vector<HubFile> files;
};

/// The reply to GET /api/models/OWNER/NAME/revision/REVISION?blobs=True. `name` is what errors call it. Throws Error
/// for what is no such reply, and for a path that would lead out of a folder.
HubListing parse_hub_listing(std::string_view reply, const std::string& name);

/// What vkformer reads of a model: safetensors, or else pytorch_model.bin, and the files beside them. Of a model whose
/// files are GGUF, or with `quant` ("Q4_K_M"), one of those with all its shards (see meant_gguf()), and that of its
/// eyes; of several eyes the smallest in 16 bits. Throws Error when there is nothing to read.
std::vector<HubFile> wanted_files(const HubListing& listing, std::string_view quant);

}  // namespace vkformer
