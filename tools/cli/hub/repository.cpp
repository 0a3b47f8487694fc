#include "tools/cli/hub/repository.h"

#include <algorithm>

#include "runtime/check.h"
#include "runtime/files/atomic_file.h"
#include "runtime/host/folder_lock.h"
#include "tools/cli/hub/content_id.h"

namespace vkformer {

namespace fs = std::filesystem;

namespace {

constexpr size_t listing_limit = size_t{64} << 20;

/// A path within a URL.
std::string in_url(std::string_view path) {
  std::string text;
  for (const char c : path) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-_.~/").find(c) != std::string_view::npos;
    text += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return text;
}

/// A branch, a tag, "refs/pr/1" or a commit.
bool is_revision(std::string_view text) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.' || c == '/'; };
  return !text.empty() && std::ranges::all_of(text, fits) && text.find("..") == text.npos && text.front() != '/';
}

/// What to do about a reply that is none of what was asked for. (The hub says 401 of what is not there, too.)
std::string advice(const HubReply& reply) {
  if (reply.error_code == "GatedRepo")
    return "its owner asks for consent: give it on the model's page, and a token of yours in HF_TOKEN";
  if (reply.error_code == "RevisionNotFound") return "it has no such revision";
  if (reply.status == 401 || reply.status == 403 || reply.status == 404)
    return "there is no such model, or it is private: see to the name, or give a token that may read it in HF_TOKEN";
  if (reply.status == 429) return "too many requests; try again later, or with a token in HF_TOKEN";
  return "try again later";
}

void check_reply(const HubReply& reply, const std::string& what) {
  check(reply.status < 400, "{}: the hub replies {}; {}", what, reply.status, advice(reply));
}

bool is_whole(const fs::path& file, uint64_t size) {
  std::error_code none;
  return fs::is_regular_file(file, none) && fs::file_size(file, none) == size;
}

/// `blob` under a name of its model's: a link, or where there are none the file itself.
void put_in_place(const fs::path& blob, const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path());
  fs::remove(file, error);
  fs::create_symlink(blob.lexically_relative(file.parent_path()), file, error);
  if (error) fs::rename(blob, file);
}

}  // namespace

HubRepository::HubRepository(Transfer& transfer, std::string endpoint, HubName name, std::string revision)
    : transfer_(transfer),
      endpoint_(std::move(endpoint)),
      revision_(std::move(revision)),
      name_(std::move(name)),
      folder_(hub_folder(name_)) {
  if (!is_revision(revision_))
    throw UsageError(fmt::format("--revision {}: no branch or commit is called so", revision_));
  check(!folder_.empty(), "there is no place for models; name a folder in HF_HOME");
  const HubReply reply =
      transfer_.get(fmt::format("{}/api/models/{}/revision/{}?blobs=True", endpoint_, name_.model(), in_url(revision_)),
                    listing_limit);
  check_reply(reply, revision_ == "main" ? name_.model() : fmt::format("{}, {}", name_.model(), revision_));
  listing_ = parse_hub_listing(reply.text, "what the hub says of " + name_.model());
}

bool HubRepository::is_there(const HubFile& file) const {
  return is_whole(snapshot() / file.path, file.size) || is_whole(blob(file), file.size);
}

uint64_t HubRepository::there(const std::vector<HubFile>& files) const {
  uint64_t bytes = 0;
  for (const HubFile& file : files)
    if (is_there(file)) bytes += file.size;
  return bytes;
}

bool HubRepository::fetch(const HubFile& file, const std::function<bool(uint64_t)>& progress) {
  const fs::path partial = blob(file).concat(".incomplete");
  const HubReply reply =
      transfer_.append(fmt::format("{}/{}/resolve/{}/{}", endpoint_, name_.model(), listing_.commit, in_url(file.path)),
                       partial, file.size, progress);
  check_reply(reply, fmt::format("{}, {}", name_.model(), file.path));
  if (!is_whole(partial, file.size)) return false;
  if (content_id(partial, file.id) != file.id) {
    fs::remove(partial);
    fail("{}, {}: what came is not what the hub lists; it was removed, try again", name_.model(), file.path);
  }
  sync_to_disk(partial);
  fs::rename(partial, blob(file));
  return true;
}

bool HubRepository::download(const std::vector<HubFile>& files,
                             const std::function<bool(uint64_t, const std::string&)>& progress) {
  fs::create_directories(folder_ / "blobs");
  fs::create_directories(snapshot());
  host::FolderLock lock;
  check(lock.take(folder_) == 0, "another process downloads into '{}'; wait for it", folder_.generic_string());
  uint64_t done = there(files), needed = 0;
  for (const HubFile& file : files) needed += is_there(file) ? 0 : file.size;
  std::error_code unknown;
  const fs::space_info space = fs::space(folder_, unknown);
  check(unknown || space.available >= needed, "{} bytes are to come, and {} are free where '{}' is", needed,
        space.available, folder_.generic_string());
  for (const HubFile& file : files) {
    if (is_whole(snapshot() / file.path, file.size)) continue;
    if (!is_whole(blob(file), file.size)) {
      if (!fetch(file, [&](uint64_t bytes) { return progress(done + bytes, file.path); })) return false;
      done += file.size;
    }
    put_in_place(blob(file), snapshot() / file.path);
  }
  if (const fs::path branch = folder_ / "refs" / revision_; revision_ != listing_.commit) {
    fs::create_directories(branch.parent_path());
    write_file_atomically(branch, listing_.commit);
  }
  return true;
}

}  // namespace vkformer
