#pragma once
// A state dict as Python's pickle has it. Nothing is ever run: a pickle is a program, and only what state dicts are
// made of is known here.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/safetensors.h"

namespace vkformer {

/// A tensor of a state dict, in a storage that others may share.
struct PickledTensor {
  std::string name;
  FileDType dtype = FileDType::f32;
  std::string storage;                  ///< the key of its storage
  int64_t storage_elements = 0;         ///< of all of that
  int64_t first = 0;                    ///< its first element there
  std::vector<int64_t> shape, strides;  ///< of the same length
};

/// What torch.save wrote before PyTorch 1.6: pickles, one of them a state dict, and behind them the storages.
struct OlderState {
  std::vector<PickledTensor> tensors;
  std::vector<std::string> storages;  ///< their keys, in the order of their bytes
  size_t length = 0;                  ///< bytes of the pickles
};

/// Whether a file begins as those do.
bool is_older_state(std::span<const std::byte> file);
/// Throws Error like read_state_dict(), and for files of another byte order.
OlderState read_older_state(std::span<const std::byte> file, const std::string& name);

/// The tensors in the order of the dictionary; entries that are no tensors are left out. Throws Error, with `name`, for
/// what a state dict has not, naming that and the byte where it is, and for more values than a state dict can have.
std::vector<PickledTensor> read_state_dict(std::span<const std::byte> pickle, const std::string& name);

}  // namespace vkformer
