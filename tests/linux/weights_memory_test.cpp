// How little memory loading takes, as Linux tells it of a process.

#include <catch2/catch_test_macros.hpp>
#include <sstream>

#include "models/parameters.h"
#include "models/weights.h"
#include "tests/file_helpers.h"

using namespace vkformer;
using namespace vkformer::testing;

namespace {

/// Keeps nothing, but notes how much it was given at a time.
class CountingStore : public Store {
 public:
  using Store::Store;
  size_t largest = 0, total = 0;  ///< bytes

 protected:
  void write_elements(const StoreLayout::Entry&, int64_t, std::span<const std::byte> data) override {
    largest = std::max(largest, data.size());
    total += data.size();
  }
  void read_elements(const StoreLayout::Entry&, std::span<std::byte>) const override {}
};

/// Pages of files and of shared memory that this process has mapped, in KiB.
int64_t mapped_kibibytes() {
  std::istringstream status(get("/proc/self/status"));
  int64_t sum = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssFile:") || line.starts_with("RssShmem:"))
      sum += std::stoll(line.substr(line.find(':') + 1));
  return sum;
}

}  // namespace

TEST_CASE("loading keeps a few MiB of a large file in memory", "[weights]") {
  const TemporaryFolder folder;
  constexpr int64_t count = int64_t{24} << 20;  // 96 MiB, which the file system does not store
  const std::string header =
      fmt::format(R"({{"w":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})", count, count * 4);
  put(folder / "model.safetensors", safetensors_bytes(header, ""));
  std::filesystem::resize_file(folder / "model.safetensors", 8 + header.size() + static_cast<size_t>(count) * 4);
  const std::vector<ParameterSpec> parameters = {{"w", {count}}};
  StoreLayout layout;
  add_parameter_blocks(layout, "parameters", parameter_blocks(parameters, uint64_t{1} << 30));
  CountingStore store(layout);
  const int64_t before = mapped_kibibytes();
  int64_t most = 0;
  load_parameters(store, parameters, folder.path(), [&](uint64_t) { most = std::max(most, mapped_kibibytes()); });
  CHECK(store.total == static_cast<size_t>(count) * 4);
  CHECK(store.largest <= size_t{4} << 20);
  CHECK(most - before < 16 << 10);
}
