#include "tools/cli/hub/content_id.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>
#include <vector>

#include "runtime/check.h"

namespace vkformer {

std::string content_id(const std::filesystem::path& file, const std::string& like) {
  const bool git = like.size() == 40;
  std::ifstream stream(file, std::ios::binary);
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> hash(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  check(stream.is_open() && hash && EVP_DigestInit_ex(hash.get(), git ? EVP_sha1() : EVP_sha256(), nullptr) == 1,
        "'{}' can't be checked", file.generic_string());
  if (git) {
    const std::string head = fmt::format("blob {}", std::filesystem::file_size(file));
    EVP_DigestUpdate(hash.get(), head.c_str(), head.size() + 1);  // with its zero
  }
  for (std::vector<char> piece(size_t{1} << 20); stream;) {
    stream.read(piece.data(), std::ssize(piece));
    EVP_DigestUpdate(hash.get(), piece.data(), static_cast<size_t>(stream.gcount()));
  }
  check(stream.eof(), "'{}' can't be read to its end", file.generic_string());
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_DigestFinal_ex(hash.get(), digest.data(), &length);
  std::string text;
  for (unsigned int i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace vkformer
