#pragma once
// Persistent tensors (parameters, gradients' sums, optimiser state, caches) in blocks. A block is one flat tensor under
// its own name, and the tensors inside it have theirs: AdamW updates a whole block in one launch.

#include <map>

#include "runtime/device_facts.h"
#include "runtime/graph.h"

namespace vkformer {

/// Where a block lies.
enum class BlockMemory : uint8_t {
  device,   ///< in the device's memory
  weights,  ///< there, or in the host's if the device turns out to have no more
  host,     ///< in the host's, which kernels reach over the bus
};

class StoreLayout {
 public:
  struct Entry {
    TensorType type;
    int block = 0;
    int64_t offset = 0;  ///< bytes
  };

  struct Part {
    std::string name;
    TensorType type;
    bool packed = false;  ///< the next part follows without a gap, wherever that is
  };

  /// A further name for several neighbours.
  struct View {
    std::string name;
    TensorType type;
    std::string first;  ///< of them
  };

  /// A block of tensors, each starting at a multiple of 16 bytes unless it follows a packed one. The block itself is a
  /// flat f32 tensor called `name`.
  void add_block(const std::string& name, std::span<const Part> parts, BlockMemory memory = BlockMemory::device);
  /// A further name for the storage from the tensor `first` on: neighbours that are packed, as one tensor. Throws Error
  /// when its block ends before.
  void add_view(const std::string& name, const TensorType& type, const std::string& first);
  /// The entry of that name, or nullptr.
  const Entry* find(const std::string& name) const;
  /// Throws Error when there is no such tensor or its type differs (the same number of elements is enough).
  const Entry& require(const std::string& name, const TensorType& type) const;
  const std::vector<int64_t>& blocks() const { return block_bytes_; }  ///< bytes of each block
  const std::vector<std::string>& block_names() const { return block_names_; }
  const std::vector<Part>& parts(size_t block) const { return block_parts_[block]; }
  const std::vector<View>& views() const { return views_; }
  const std::vector<BlockMemory>& block_memories() const { return block_memories_; }
  int64_t total_bytes() const;
  int64_t host_bytes() const;  ///< of the blocks in host memory
  int64_t device_bytes() const { return total_bytes() - host_bytes(); }
  /// Whether the tensor lies in host memory; false where there is none of that name.
  bool in_host(const std::string& name) const;
  /// Throws Error for a block that is larger than one allocation of the device may be.
  void check_blocks(const DeviceFacts& facts) const;

 private:
  std::vector<int64_t> block_bytes_;
  std::vector<std::string> block_names_;
  std::vector<std::vector<Part>> block_parts_;
  std::vector<View> views_;
  std::vector<BlockMemory> block_memories_;
  std::map<std::string, Entry> entries_;
};

/// Parts of a block start at multiples of 16 bytes.
constexpr int64_t align_part(int64_t bytes) { return (bytes + 15) / 16 * 16; }

}  // namespace vkformer
