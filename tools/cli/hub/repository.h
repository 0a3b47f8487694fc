#pragma once
// A model of Hugging Face's hub, and its download into the cache that models are looked for in by their names.

#include <functional>
#include <string>
#include <vector>

#include "models/hub/hub_cache.h"
#include "models/hub/hub_listing.h"
#include "tools/cli/hub/transfer.h"

namespace vkformer {

class HubRepository {
 public:
  /// `endpoint`: of the hub, "https://huggingface.co". Asks it for the files of that revision. Throws Error when there
  /// is no such model, or none for this user.
  HubRepository(Transfer& transfer, std::string endpoint, HubName name, std::string revision);

  const HubListing& listing() const { return listing_; }
  /// Where this revision lies when it is downloaded.
  std::filesystem::path snapshot() const { return folder_ / "snapshots" / listing_.commit; }
  /// Bytes of them that are in the cache.
  uint64_t there(const std::vector<HubFile>& files) const;
  /// Downloads what is missing, as huggingface_hub lays it out: each file whole and of the content that the hub says or
  /// not at all; what came of one goes on there with the next try. `progress`: bytes of all, and the file; false ends
  /// it after which false is given. Throws Error.
  bool download(const std::vector<HubFile>& files, const std::function<bool(uint64_t, const std::string&)>& progress);

 private:
  bool fetch(const HubFile& file, const std::function<bool(uint64_t)>& progress);
  std::filesystem::path blob(const HubFile& file) const { return folder_ / "blobs" / file.id; }
  bool is_there(const HubFile& file) const;

  Transfer& transfer_;
  std::string endpoint_, revision_;
  HubName name_;
  std::filesystem::path folder_;
  HubListing listing_;
};

}  // namespace vkformer
