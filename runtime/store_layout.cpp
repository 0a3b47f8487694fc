#include "runtime/store_layout.h"

#include <numeric>

#include "runtime/check.h"

namespace vkformer {

void StoreLayout::add_block(const std::string& name, std::span<const Part> parts, BlockMemory memory) {
  const int block = static_cast<int>(block_bytes_.size());
  int64_t offset = 0;
  for (const Part& part : parts) {
    check(entries_.emplace(part.name, Entry{part.type, block, offset}).second,
          "the store already has a tensor named '{}'", part.name);
    offset += part.type.offset_of(part.type.elements());
    if (!part.packed) offset = align_part(offset);
  }
  check(entries_.emplace(name, Entry{{Shape{offset / size_of(DType::f32)}, DType::f32}, block, 0}).second,
        "the store already has a tensor named '{}'", name);
  block_bytes_.push_back(offset);
  block_names_.push_back(name);
  block_parts_.emplace_back(parts.begin(), parts.end());
  block_memories_.push_back(memory);
}

void StoreLayout::add_view(const std::string& name, const TensorType& type, const std::string& first) {
  const Entry* start = find(first);
  check(start != nullptr, "the store has no tensor '{}'", first);
  check(start->offset + type.bytes() <= block_bytes_[static_cast<size_t>(start->block)],
        "'{}' {} does not fit behind '{}'", name, type.shape.to_string(), first);
  check(entries_.emplace(name, Entry{type, start->block, start->offset}).second,
        "the store already has a tensor named '{}'", name);
  views_.push_back({name, type, first});
}

const StoreLayout::Entry* StoreLayout::find(const std::string& name) const {
  auto known = entries_.find(name);
  return known == entries_.end() ? nullptr : &known->second;
}

const StoreLayout::Entry& StoreLayout::require(const std::string& name, const TensorType& type) const {
  const Entry* entry = find(name);
  check(entry != nullptr, "the store has no tensor '{}'", name);
  check(entry->type.elements() == type.elements() && entry->type.dtype == type.dtype,
        "tensor '{}' is {} {} in the store, {} {} in the graph", name, name_of(entry->type.dtype),
        entry->type.shape.to_string(), name_of(type.dtype), type.shape.to_string());
  return *entry;
}

int64_t StoreLayout::total_bytes() const {
  return std::accumulate(block_bytes_.begin(), block_bytes_.end(), int64_t{0});
}

int64_t StoreLayout::host_bytes() const {
  int64_t bytes = 0;
  for (size_t i = 0; i < block_bytes_.size(); ++i)
    if (block_memories_[i] == BlockMemory::host) bytes += block_bytes_[i];
  return bytes;
}

bool StoreLayout::in_host(const std::string& name) const {
  const Entry* entry = find(name);
  return entry != nullptr && block_memories_[static_cast<size_t>(entry->block)] == BlockMemory::host;
}

void StoreLayout::check_blocks(const DeviceFacts& facts) const {
  for (size_t i = 0; i < block_bytes_.size(); ++i)
    check(static_cast<uint64_t>(block_bytes_[i]) <= facts.max_allocation,
          "{} needs {} MiB, one allocation of {} may have {} MiB; use a smaller model or context", block_names_[i],
          block_bytes_[i] >> 20, facts.name, facts.max_allocation >> 20);
}

}  // namespace vkformer
