#pragma once
// HTTP, by libcurl: https with the system's certificates, proxies as its environment variables say.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace vkformer {

/// What a server said besides what was asked for.
struct HubReply {
  long status = 0;
  std::string text;        ///< the body; of a file that came, empty
  std::string error_code;  ///< "GatedRepo", by which Hugging Face's hub tells what is wrong
};

class Transfer {
 public:
  /// `token` goes with requests to the servers that are named here, not where those send us; never over plain http but
  /// to this machine.
  explicit Transfer(std::string token);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// The reply to a GET, of at most `limit` bytes. Throws Error when none comes.
  HubReply get(const std::string& url, size_t limit);
  /// Appends what is missing of `size` bytes to a file that has the first of them, or none. `progress`: bytes in the
  /// file; when it gives false no more comes. Tries again as long as something comes. Otherwise all is there, or the
  /// reply has the status (400 or more) and words of a server that refused. Throws Error for one that can't be reached,
  /// sends too much or nothing more, and for a file that can't be written.
  HubReply append(const std::string& url, const std::filesystem::path& file, uint64_t size,
                  const std::function<bool(uint64_t)>& progress);

 private:
  struct Handle;
  std::unique_ptr<Handle> handle_;
  std::string token_;
};

}  // namespace vkformer
